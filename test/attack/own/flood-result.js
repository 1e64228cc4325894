// expect: error
// code: script_quota
// shared: yes
// why: a result one character over the limit, all of them escaped to six
function onSolutionOpen(arg, queryParams) { return '\u0001'.repeat(65537); }
