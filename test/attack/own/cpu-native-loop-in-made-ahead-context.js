// expect: contained
// also: timeout
// why: the context for the next login is created while nobody waits for it: a native loop there must be ended as well
if (Date.now() % 1000 < 150) Array.prototype.includes.call(new Proxy({ length: 2 ** 53 - 1 }, {}), 1);
function onSolutionOpen(arg, queryParams) { while (Date.now() % 1000 > 2); return '{"escaped":false}'; }
