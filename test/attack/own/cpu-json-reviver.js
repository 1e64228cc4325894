// expect: timeout
// why: a reviver that keeps adding objects for the parser to visit
function onSolutionOpen(arg, queryParams) { JSON.parse('[[0]]', function (key, value) { if (Array.isArray(this)) this[this.length] = [0]; return [0]; }); for (;;); }
