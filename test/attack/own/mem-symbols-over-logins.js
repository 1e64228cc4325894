// expect: contained
// also: memory
// also2: busy
// calls: 6
// why: what a context leaves in its isolate adds up over logins: the isolate has to give it back or to go
function onSolutionOpen(arg, queryParams) { for (var i = 0; i < 6e4; i++) Symbol.for(queryParams.username + ' leaves this behind ' + i); return '{"escaped":false}'; }
