// expect: memory
// also: timeout
// why: ephemerons that keep each other alive
function onSolutionOpen(arg, queryParams) { var w = new WeakMap(), key = {}, first = key; for (;;) { var next = {}; w.set(key, next); key = next; } }
