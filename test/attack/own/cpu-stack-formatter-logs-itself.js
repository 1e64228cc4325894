// expect: contained
// also: error
// why: a stack formatter that logs: each log call needs a stack, so the formatter runs again
function onSolutionOpen(arg, queryParams) { var n = 0; Error.prepareStackTrace = function () { n++; application.output('x'); return 'y'; }; try { application.output('x'); } catch (e) {} return JSON.stringify({ escaped: false, n: n }); }
