// expect: contained
// calls: 3
// why: log lines of top-level code count for the login that uses the context, with one quota for both
for (var i = 0; i < 1e4; i++) console.log('load ' + i);
function onSolutionOpen(arg, queryParams) { for (var i = 0; i < 1e4; i++) console.log('call ' + i); return '{"escaped":false}'; }
