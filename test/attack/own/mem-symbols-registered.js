// expect: memory
// also: timeout
// also2: error
// why: registered symbols belong to the isolate, not to a context
function onSolutionOpen(arg, queryParams) { for (var i = 0; ; i++) Symbol.for('a long enough name that it takes room ' + i); }
