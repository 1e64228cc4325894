// expect: timeout
// why: then of the wrapper's own Promise creates a new one with the constructor's species
function onSolutionOpen(arg, queryParams) { Object.defineProperty(Promise.prototype, 'constructor', { get: function () { for (;;); } }); return (async function () { return '{"escaped":true}'; })(); }
