// expect: contained
// also: timeout
// why: the next login's context is created in advance, with a rejection whose getters run outside any time limit
if (Date.now() % 1000 < 150) { var e = new Error('x'); ['message', 'stack', 'name'].forEach(function (k) { Object.defineProperty(e, k, { get: function () { for (;;); } }); }); Promise.reject(e); }
function onSolutionOpen(arg, queryParams) { while (Date.now() % 1000 > 2); return '{"escaped":false}'; }
