// expect: contained
// calls: 3
// why: log lines from top-level code count towards the quota of the login that uses the context
for (var i = 0; i < 1e4; i++) console.log('load ' + i);
function onSolutionOpen(arg, queryParams) { for (var i = 0; i < 1e4; i++) console.log('call ' + i); return '{"escaped":false}'; }
