// expect: timeout
// why: whether a result is a Promise is found out by reading then
function onSolutionOpen(arg, queryParams) { return { get then() { for (;;); } }; }
