// expect: contained
// also: memory
// also2: error
// also3: timeout
// why: what is logged is turned into a text before it is cut
function onSolutionOpen(arg, queryParams) { var o = 'x'.repeat(1000); for (var i = 0; i < 20; i++) o = [o, o]; console.log(o); return '{"escaped":false}'; }
