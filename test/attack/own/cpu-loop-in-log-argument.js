// expect: timeout
// why: what is logged is turned into a text, which runs its toJSON
function onSolutionOpen(arg, queryParams) { console.log({ toJSON: function () { for (;;); } }); return '{"escaped":true}'; }
