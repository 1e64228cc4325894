// expect: timeout
// why: top-level code that ends immediately, but whose microtasks never end
(async function () { for (;;) await null; })();
function onSolutionOpen(arg, queryParams) { return '{"escaped":false}'; }
