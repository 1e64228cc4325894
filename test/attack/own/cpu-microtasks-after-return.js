// expect: timeout
// why: the answer is given at once, and microtasks go on for ever behind it
function onSolutionOpen(arg, queryParams) { (function again() { Promise.resolve().then(again); })(); return '{"escaped":false}'; }
