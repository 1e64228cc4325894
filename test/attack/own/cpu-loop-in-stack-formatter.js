// expect: timeout
// why: prepareStackTrace runs when the wrapper reads the stack of an error, or of a log call
function onSolutionOpen(arg, queryParams) { Error.prepareStackTrace = function () { for (;;); }; application.output('x'); return '{"escaped":true}'; }
