// expect: timeout
// why: the host parses URLs, and rejected URLs do not count as requests
function onSolutionOpen(arg, queryParams) { var u = 'http://u@' + '\u00e9.'.repeat(1000) + 'x'; for (;;) try { application.showURL(u); } catch (e) { if (!/showURL/.test(e.message)) throw e; } }
