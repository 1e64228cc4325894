// expect: timeout
// also: error
// also2: memory
// why: the fallback date parser reads a hundred million characters
function onSolutionOpen(arg, queryParams) { var t = '('.repeat(1e6) + ' 1 '.repeat(1e7); for (;;) Date.parse(t); }
