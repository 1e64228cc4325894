// expect: timeout
// why: an endless callback of replaceAll inside a native loop
function onSolutionOpen(arg, queryParams) { 'aaaa'.replaceAll('a', function () { for (;;); }); }
