// expect: timeout
// also: error
// also2: memory
// why: escaping long texts is native
function onSolutionOpen(arg, queryParams) { var t = '\u20ac'.repeat(5e6); for (;;) decodeURIComponent(encodeURIComponent(t)); }
