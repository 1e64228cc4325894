// expect: timeout
// also: error
// also2: memory
// why: a Proxy's keys are checked against its target one by one
function onSolutionOpen(arg, queryParams) { var keys = []; for (var i = 0; i < 4e5; i++) keys.push('k' + i); var p = new Proxy({}, { ownKeys: function () { return keys; }, getOwnPropertyDescriptor: function () { return { value: {}, enumerable: true, configurable: true }; } }); for (;;) Object.defineProperties({}, p); }
