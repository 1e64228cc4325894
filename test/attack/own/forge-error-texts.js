// expect: error
// code: script_error
// shared: yes
// why: a name and a message of one megabyte each, with escape sequences, are truncated in the outcome
function onSolutionOpen(arg, queryParams) { var e = new Error('\u001b[31m\r\nSet-Cookie: a=b\u202e'.repeat(5e4)); e.name = '\ud800\u0000'.repeat(5e5); throw e; }
