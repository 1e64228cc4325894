// expect: contained
// also: timeout
// why: the next login's context is created in advance, without a waiting call. A native loop there must also be ended
if (Date.now() % 1000 < 150) Array.prototype.includes.call(new Proxy({ length: 2 ** 53 - 1 }, {}), 1);
function onSolutionOpen(arg, queryParams) { while (Date.now() % 1000 > 2); return '{"escaped":false}'; }
