// expect: timeout
// why: for await over an endless generator: each step is a microtask
async function onSolutionOpen(arg, queryParams) { async function* all() { for (;;) yield 1; } for await (var x of all()); }
