// expect: timeout
// why: the length of a list of permissions is read from a Proxy
function onSolutionOpen(arg, queryParams) { security.login('u', '1', new Proxy([], { get: function () { for (;;); } })); }
