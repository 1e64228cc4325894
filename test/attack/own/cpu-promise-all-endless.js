// expect: timeout
// also: memory
// also2: error
// why: Promise.all with an endless iterator
function onSolutionOpen(arg, queryParams) { return Promise.all((function* () { for (;;) yield 1; })()); }
