// expect: timeout
// why: a reviver that gives the parser more to walk each time
function onSolutionOpen(arg, queryParams) { JSON.parse('[[0]]', function (key, value) { if (Array.isArray(this)) this[this.length] = [0]; return [0]; }); for (;;); }
