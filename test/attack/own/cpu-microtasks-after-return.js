// expect: timeout
// why: the result is returned immediately, but microtasks continue endlessly
function onSolutionOpen(arg, queryParams) { (function again() { Promise.resolve().then(again); })(); return '{"escaped":false}'; }
