// expect: contained
// calls: 3
// why: lines of top-level code are lines of the login that the context belongs to, with one quota for both
for (var i = 0; i < 1e4; i++) console.log('load ' + i);
function onSolutionOpen(arg, queryParams) { for (var i = 0; i < 1e4; i++) console.log('call ' + i); return '{"escaped":false}'; }
