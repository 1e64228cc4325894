// expect: timeout
// also: error
// why: catastrophic backtracking in a replace on a long string, with a lookbehind and a back reference
function onSolutionOpen(arg, queryParams) { return 'ab'.repeat(20000).replace(/(?<=(.*)(.*)(.*))\1x\2/g, ''); }
