// expect: contained
// also: timeout
// why: the next login's context is created in advance, when no call is waiting. A native loop there must also end
if (Date.now() % 1000 < 150) Array.prototype.includes.call(new Proxy({ length: 2 ** 53 - 1 }, {}), 1);
function onSolutionOpen(arg, queryParams) { while (Date.now() % 1000 > 2); return '{"escaped":false}'; }
