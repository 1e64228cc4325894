// expect: error
// shared: yes
// why: an error with a chain of two hundred thousand causes, and an error that is its own cause
function onSolutionOpen(arg, queryParams) { var e = new Error('first'); e.cause = e; for (var i = 0; i < 2e5; i++) e = new Error('x', { cause: e }); throw new AggregateError([e, e], 'all', { cause: e }); }
