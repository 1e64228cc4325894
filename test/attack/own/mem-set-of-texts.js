// expect: memory
// also: timeout
// also2: error
// why: a Set that doubles its table with every filling: known to end the whole process
function onSolutionOpen(arg, queryParams) { var s = new Set(); for (var i = 0; ; i++) s.add('t' + i); }
