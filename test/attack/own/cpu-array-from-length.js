// expect: memory
// also: timeout
// also2: error
// why: Array.from with a huge fake length
function onSolutionOpen(arg, queryParams) { return String(Array.from({ length: 2 ** 32 - 2 }).length); }
