// expect: timeout
// also: error
// also2: memory
// why: one operator produces hundreds of millions of digits
function onSolutionOpen(arg, queryParams) { return String((7n ** (3n ** 16n)) % 11n); }
