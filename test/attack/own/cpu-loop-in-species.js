// expect: timeout
// why: calling then on the wrapper's own Promise creates a new Promise with the constructor's species
function onSolutionOpen(arg, queryParams) { Object.defineProperty(Promise.prototype, 'constructor', { get: function () { for (;;); } }); return (async function () { return '{"escaped":true}'; })(); }
