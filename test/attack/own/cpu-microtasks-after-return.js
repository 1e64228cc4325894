// expect: timeout
// why: the answer is returned immediately, and microtasks continue endlessly after it
function onSolutionOpen(arg, queryParams) { (function again() { Promise.resolve().then(again); })(); return '{"escaped":false}'; }
