// expect: timeout
// why: a comparator that answers at random and never ends
function onSolutionOpen(arg, queryParams) { [3, 1, 2].sort(function () { for (;;); }); }
