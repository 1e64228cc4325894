// expect: timeout
// why: disposing a resource awaits what its method returns, so a thenable's getter loops in a microtask
async function onSolutionOpen(arg, queryParams) {
  var stack = new AsyncDisposableStack();
  var endless = { get then() { for (;;); } };
  stack.use({ [Symbol.asyncDispose]: function () { return { then: function (settle) { settle(endless); } }; } });
  await stack.disposeAsync();
}
