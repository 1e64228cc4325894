// expect: timeout
// why: a replaceAll callback that never ends, inside a native loop
function onSolutionOpen(arg, queryParams) { 'aaaa'.replaceAll('a', function () { for (;;); }); }
