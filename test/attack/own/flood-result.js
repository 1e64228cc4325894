// expect: error
// code: script_quota
// shared: yes
// why: a result that is one character too long, in which each character is escaped to six
function onSolutionOpen(arg, queryParams) { return '\u0001'.repeat(65537); }
