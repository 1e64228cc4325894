// expect: contained
// also: memory
// also2: error
// also3: timeout
// why: a logged value is converted to a string before it is truncated
function onSolutionOpen(arg, queryParams) { var o = 'x'.repeat(1000); for (var i = 0; i < 20; i++) o = [o, o]; console.log(o); return '{"escaped":false}'; }
