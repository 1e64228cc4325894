// expect: timeout
// also: error
// why: an unhandled rejection in top-level code, whose error has a getter that never returns
var e = new Error('x'); ['message', 'stack', 'name'].forEach(function (k) { Object.defineProperty(e, k, { get: function () { for (;;); } }); });
Promise.reject(e);
function onSolutionOpen(arg, queryParams) { return '{"escaped":false}'; }
