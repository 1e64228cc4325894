// expect: timeout
// also: error
// why: copyWithin iterates over nine quadrillion holes
function onSolutionOpen(arg, queryParams) { Array.prototype.copyWithin.call({ length: 2 ** 53 - 1 }, 0, 1); return '{}'; }
