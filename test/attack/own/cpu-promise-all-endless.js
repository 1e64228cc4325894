// expect: timeout
// also: memory
// also2: error
// why: Promise.all of an iterator that never ends
function onSolutionOpen(arg, queryParams) { return Promise.all((function* () { for (;;) yield 1; })()); }
