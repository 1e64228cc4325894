// expect: memory
// also: error
// also2: timeout
// why: ropes (concatenated strings) use no memory until a character is read
function onSolutionOpen(arg, queryParams) { var kept = []; for (;;) { var s = 'ab' + kept.length; while (s.length < 4e7) s += s; s.charCodeAt(5); kept.push(s); } }
