// expect: contained
// shared: yes
// why: a thenable that resolves twice and then throws: only the first value is used
function onSolutionOpen(arg, queryParams) { return { then: function (ok, no) { ok('{"escaped":false}'); ok('{"escaped":true}'); no(new Error('x')); throw 1; } }; }
