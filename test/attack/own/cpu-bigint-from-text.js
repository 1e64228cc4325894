// expect: timeout
// also: error
// also2: memory
// why: a text of two hundred million digits is converted to a number
function onSolutionOpen(arg, queryParams) { var t = '7'.repeat(2e8); for (;;) BigInt(t); }
