// expect: timeout
// also: error
// why: the same inside a replace over a long text with lookbehind and back reference
function onSolutionOpen(arg, queryParams) { return 'ab'.repeat(20000).replace(/(?<=(.*)(.*)(.*))\1x\2/g, ''); }
