// expect: timeout
// also: error
// also2: memory
// why: a string of two hundred million digits is converted to a BigInt
function onSolutionOpen(arg, queryParams) { var t = '7'.repeat(2e8); for (;;) BigInt(t); }
