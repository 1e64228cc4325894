// expect: contained
// also: memory
// also2: busy
// calls: 6
// why: data that contexts leave in their isolate adds up over logins: it must be freed, or the isolate replaced
function onSolutionOpen(arg, queryParams) { for (var i = 0; i < 6e4; i++) Symbol.for(queryParams.username + ' leaves this behind ' + i); return '{"escaped":false}'; }
