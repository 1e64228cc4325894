// expect: timeout
// also: error
// also2: memory
// why: String.raw joins as many parts as a fake length specifies
function onSolutionOpen(arg, queryParams) { return String(String.raw({ raw: { length: 2 ** 53 - 1, get 0() { return ''; } } }).length); }
