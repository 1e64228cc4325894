// expect: contained
// why: prototype keys and duplicate keys in the JSON that a script returns
function onSolutionOpen(arg, queryParams) { return '{"escaped":false,"__proto__":{"escaped":true},"constructor":{"prototype":{"escaped":true}},"escaped":true}'; }
