// expect: timeout
// also: error
// why: top-level code leaves a rejection whose error loops when the host reads it
var e = new Error('x'); ['message', 'stack', 'name'].forEach(function (k) { Object.defineProperty(e, k, { get: function () { for (;;); } }); });
Promise.reject(e);
function onSolutionOpen(arg, queryParams) { return '{"escaped":false}'; }
