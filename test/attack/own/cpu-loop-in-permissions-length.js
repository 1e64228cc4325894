// expect: timeout
// why: the length of a list of permissions is asked of a Proxy
function onSolutionOpen(arg, queryParams) { security.login('u', '1', new Proxy([], { get: function () { for (;;); } })); }
