// expect: timeout
// why: catastrophic backtracking in the regular expression engine
function onSolutionOpen(arg, queryParams) { return String(/^(?:(a+)+)+$/.test('a'.repeat(60) + 'b')); }
