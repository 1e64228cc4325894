// expect: error
// also: timeout
// also2: memory
// why: a hundred thousand unhandled rejections
function onSolutionOpen(arg, queryParams) { for (var i = 0; i < 1e5; i++) Promise.reject(new Error('x' + i)); return '{"escaped":false}'; }
