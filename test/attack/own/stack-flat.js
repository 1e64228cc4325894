// expect: error
// shared: yes
// why: flattening an array with two hundred thousand levels
function onSolutionOpen(arg, queryParams) { var a = [1]; for (var i = 0; i < 2e5; i++) a = [a]; return String(a.flat(Infinity).length); }
