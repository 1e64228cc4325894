// expect: timeout
// also: error
// also2: memory
// why: normalizing a long text of combining marks is native
function onSolutionOpen(arg, queryParams) { var t = 'a' + '\u0316\u0301'.repeat(4e6); for (;;) t.normalize('NFKD'); }
