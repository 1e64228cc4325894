// expect: memory
// also: error
// also2: timeout
// why: each match is an array that retains the whole input
function onSolutionOpen(arg, queryParams) { return String(Array.from('ab'.repeat(2e7).matchAll(/(a)(b)/g)).length); }
