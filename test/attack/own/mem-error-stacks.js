// expect: memory
// also: timeout
// also2: error
// why: each error retains the stack frames in which it was created
function onSolutionOpen(arg, queryParams) { Error.stackTraceLimit = Infinity; var kept = []; function dive(n) { if (n) dive(n - 1); for (var i = 0; i < 50; i++) kept.push(new Error('x')); } for (;;) dive(3000); }
