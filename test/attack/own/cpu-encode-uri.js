// expect: timeout
// also: error
// also2: memory
// why: native code escapes a long string
function onSolutionOpen(arg, queryParams) { var t = '\u20ac'.repeat(5e6); for (;;) decodeURIComponent(encodeURIComponent(t)); }
