// expect: error
// why: the entry function is a getter that returns a function when checked and something else when used
function onSolutionOpen(arg, queryParams) { return '{"escaped":true}'; }
var looks = 0, real = onSolutionOpen;
Object.defineProperty(globalThis, 'onSolutionOpen', { get: function () { return looks++ === 0 ? real : new Proxy({ call: real, apply: real }, {}); } });
