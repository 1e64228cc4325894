// expect: error
// also: contained
// also2: timeout
// why: a chain of a hundred thousand prototypes
function onSolutionOpen(arg, queryParams) { var o = Object.create(null); for (var i = 0; i < 1e5; i++) o = Object.create(o); o.x; throw o; }
