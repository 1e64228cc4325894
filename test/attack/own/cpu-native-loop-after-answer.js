// expect: timeout
// why: a native loop that can't be interrupted starts after the Promise is resolved, before the host has the result
function onSolutionOpen(arg, queryParams) { var p = Promise.resolve('{"escaped":false}'), q = p; for (var i = 0; i < 50; i++) q = q.then(function () {}); q.then(function () { Array.prototype.lastIndexOf.call({ length: 2 ** 53 - 1 }, 1); }); return p; }
