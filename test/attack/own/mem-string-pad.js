// expect: memory
// also: error
// also2: timeout
// why: padEnd, join and replaceAll each create a long string in one step
function onSolutionOpen(arg, queryParams) { var kept = []; for (;;) kept.push(new Array(2000).join('y'.padEnd(9000, 'xy')).replaceAll('x', 'zz') + kept.length, 'q'.repeat(3e7).toUpperCase()); }
