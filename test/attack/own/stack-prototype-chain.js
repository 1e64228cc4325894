// expect: error
// also: contained
// also2: timeout
// why: a hundred thousand prototypes above each other
function onSolutionOpen(arg, queryParams) { var o = Object.create(null); for (var i = 0; i < 1e5; i++) o = Object.create(o); o.x; throw o; }
