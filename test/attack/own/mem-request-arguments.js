// expect: memory
// also: timeout
// also2: contained
// also3: error
// why: two thousand requests of a quarter of a megabyte each, none of them awaited: they must not pile up in the host
function onSolutionOpen(arg, queryParams) { var t = 'x'.repeat(250000); for (var i = 0; i < 2000; i++) directory.find(t).catch(function () {}); return '{"escaped":false}'; }
