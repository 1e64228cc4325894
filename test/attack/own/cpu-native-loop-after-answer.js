// expect: timeout
// why: a resolved Promise, then a native loop that no interrupt reaches, before the host receives the answer
function onSolutionOpen(arg, queryParams) { var p = Promise.resolve('{"escaped":false}'), q = p; for (var i = 0; i < 50; i++) q = q.then(function () {}); q.then(function () { Array.prototype.lastIndexOf.call({ length: 2 ** 53 - 1 }, 1); }); return p; }
