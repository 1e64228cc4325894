// expect: timeout
// also: memory
// also2: contained
// why: large requests whose responses are all awaited, so that the sandbox never fills up and the host does the work
async function onSolutionOpen(arg, queryParams) { var t = 'x'.repeat(250000); for (var i = 0; i < 200; i++) await Promise.all([1, 2, 3, 4, 5, 6, 7, 8, 9].map(function () { return directory.find(t); })); return '{"escaped":false}'; }
