// expect: timeout
// why: a logged value is converted to a string, which runs its toJSON
function onSolutionOpen(arg, queryParams) { console.log({ toJSON: function () { for (;;); } }); return '{"escaped":true}'; }
