// expect: memory
// also: timeout
// why: suspended generators retain their stack frames
function onSolutionOpen(arg, queryParams) { var kept = []; for (;;) { var g = (function* (a) { var b = new Array(50).fill(a); yield b; return b; })(kept.length); g.next(); kept.push(g); } }
