// expect: memory
// also: error
// also2: timeout
// why: BigInts of one megabyte each
function onSolutionOpen(arg, queryParams) { var kept = []; for (;;) kept.push(1n << BigInt(8e6 + kept.length)); }
