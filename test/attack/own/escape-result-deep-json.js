// expect: contained
// shared: yes
// why: the host reads the returned JSON: deep nesting must not overflow the host's stack
function onSolutionOpen(arg, queryParams) { return '{"a":'.repeat(5000) + '['.repeat(10000) + ']'.repeat(10000) + '}'.repeat(5000); }
