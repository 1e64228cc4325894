// expect: timeout
// why: then of the wrapper's own Promise makes a new one by what the constructor says
function onSolutionOpen(arg, queryParams) { Object.defineProperty(Promise.prototype, 'constructor', { get: function () { for (;;); } }); return (async function () { return '{"escaped":true}'; })(); }
