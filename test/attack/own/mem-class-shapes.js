// expect: memory
// also: timeout
// also2: error
// why: each new key creates a new hidden class, and the engine keeps the descriptors
function onSolutionOpen(arg, queryParams) { var kept = []; for (var i = 0; ; i++) { var o = { ['a' + i]: 1 }; for (var k = 0; k < 100; k++) o['b' + i + '_' + k] = k; kept.push(o); } }
