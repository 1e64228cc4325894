// expect: error
// shared: yes
// why: an error whose cause has a cause, two hundred thousand times, and one that is its own
function onSolutionOpen(arg, queryParams) { var e = new Error('first'); e.cause = e; for (var i = 0; i < 2e5; i++) e = new Error('x', { cause: e }); throw new AggregateError([e, e], 'all', { cause: e }); }
