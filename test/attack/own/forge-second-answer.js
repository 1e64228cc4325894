// expect: contained
// shared: yes
// why: a thenable that answers twice and then throws: the first answer counts
function onSolutionOpen(arg, queryParams) { return { then: function (ok, no) { ok('{"escaped":false}'); ok('{"escaped":true}'); no(new Error('x')); throw 1; } }; }
