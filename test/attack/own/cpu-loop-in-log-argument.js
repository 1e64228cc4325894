// expect: timeout
// why: a logged value is converted to text, which runs its toJSON
function onSolutionOpen(arg, queryParams) { console.log({ toJSON: function () { for (;;); } }); return '{"escaped":true}'; }
