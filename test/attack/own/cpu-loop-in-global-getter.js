// expect: timeout
// why: finding the entry function reads a property of the global object, which can be a getter
var real = true;
Object.defineProperty(globalThis, 'onSolutionOpen', { get: function () { for (;;); }, configurable: true });
