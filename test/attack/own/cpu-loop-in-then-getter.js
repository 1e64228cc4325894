// expect: timeout
// why: the wrapper reads then to find out whether a result is a Promise
function onSolutionOpen(arg, queryParams) { return { get then() { for (;;); } }; }
