// expect: error
// why: the entry function is a getter that is a function when it is looked at and something else when it is taken
function onSolutionOpen(arg, queryParams) { return '{"escaped":true}'; }
var looks = 0, real = onSolutionOpen;
Object.defineProperty(globalThis, 'onSolutionOpen', { get: function () { return looks++ === 0 ? real : new Proxy({ call: real, apply: real }, {}); } });
