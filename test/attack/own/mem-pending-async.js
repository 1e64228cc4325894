// expect: memory
// also: timeout
// why: functions that await a Promise that is never resolved
function onSolutionOpen(arg, queryParams) { var never = new Promise(function () {}); for (;;) (async function () { var room = new Array(100).fill(1); await never; return room; })(); }
