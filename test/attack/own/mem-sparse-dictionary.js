// expect: memory
// also: timeout
// also2: error
// why: arrays of holes become hash tables
function onSolutionOpen(arg, queryParams) { var a = []; for (var i = 0; ; i++) a[(i * 7919 * 1031) % 4294967295] = i; }
