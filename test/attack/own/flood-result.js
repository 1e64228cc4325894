// expect: error
// code: script_quota
// shared: yes
// why: a result of one character more than is allowed, all of them written in six
function onSolutionOpen(arg, queryParams) { return '\u0001'.repeat(65537); }
