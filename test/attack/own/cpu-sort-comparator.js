// expect: timeout
// why: a comparator that never returns, called by a native sort
function onSolutionOpen(arg, queryParams) { [3, 1, 2].sort(function () { for (;;); }); }
