// expect: timeout
// why: a callback of replaceAll that runs for ever inside a native loop
function onSolutionOpen(arg, queryParams) { 'aaaa'.replaceAll('a', function () { for (;;); }); }
