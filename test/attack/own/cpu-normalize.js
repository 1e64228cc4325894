// expect: timeout
// also: error
// also2: memory
// why: native code normalises a long string of combining marks
function onSolutionOpen(arg, queryParams) { var t = 'a' + '\u0316\u0301'.repeat(4e6); for (;;) t.normalize('NFKD'); }
