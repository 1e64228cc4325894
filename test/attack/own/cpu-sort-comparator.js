// expect: timeout
// why: a comparator that returns random values and never ends
function onSolutionOpen(arg, queryParams) { [3, 1, 2].sort(function () { for (;;); }); }
