// expect: timeout
// also: error
// why: native code sorts a typed array
function onSolutionOpen(arg, queryParams) { var a = new Float64Array(2e6); for (;;) { for (var i = 0; i < a.length; i += 3) a[i] = Math.random(); a.sort(); } }
