// expect: timeout
// also: error
// also2: memory
// why: concat iterates over the length of every object that is marked as spreadable
function onSolutionOpen(arg, queryParams) { return String([].concat({ length: 2 ** 53 - 1, [Symbol.isConcatSpreadable]: true }).length); }
