// expect: memory
// also: timeout
// also2: error
// why: a Set that doubles its table each time it is full: known to crash the whole process
function onSolutionOpen(arg, queryParams) { var s = new Set(); for (var i = 0; ; i++) s.add('t' + i); }
