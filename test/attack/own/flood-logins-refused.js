// expect: contained
// also: timeout
// why: each rejected login writes a log line: the lines count towards the quota, whatever the name
function onSolutionOpen(arg, queryParams) { var took = 0; for (var i = 0; i < 5e4; i++) if (security.login('\u202e' + i, '1', ['A'])) took++; return JSON.stringify({ escaped: took > 0 }); }
