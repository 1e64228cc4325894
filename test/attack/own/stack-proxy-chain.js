// expect: error
// also: memory
// why: a hundred thousand nested Proxies: an access to the outermost goes through all of them
function onSolutionOpen(arg, queryParams) { var p = []; for (var i = 0; i < 1e5; i++) p = new Proxy(p, {}); security.login('u', '1', p); return '{"escaped":false}'; }
