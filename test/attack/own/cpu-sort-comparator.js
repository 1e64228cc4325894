// expect: timeout
// why: a comparator that returns random values, so that sorting never ends
function onSolutionOpen(arg, queryParams) { [3, 1, 2].sort(function () { for (;;); }); }
