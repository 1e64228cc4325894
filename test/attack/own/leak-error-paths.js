// expect: contained
// shared: yes
// why: errors from bindings, parsers and the engine must not contain the host's file or function names
async function onSolutionOpen(arg, queryParams) {
  var bad = [];
  Error.stackTraceLimit = 100;
  for (var f of [function () { (0, eval)('('); }, function () { new RegExp('('); }, function () { JSON.parse('{'); }, function () { security.login(); }, function () { application.showURL('x:'); }, function () { null.x; }, function () { 'x'.repeat(-1); }, function () { new Array(-1); }, function () { return import('x'); }, function () { return directory.find(5); }, function () { new Intl.NumberFormat('x-x-x'); }, function () { Object.defineProperty(security, 'x', {}); }, function () { (function g() { g(); })(); }])
    try { await f(); } catch (e) { if (/file:|node:|\/(work|home|usr|opt|tmp|root)|node_modules|isolate|\.ts\b/.test(String(e.stack) + e.message + e.cause)) bad.push(String(e.stack).slice(0, 300)); }
  return JSON.stringify({ escaped: bad.length > 0, bad: bad });
}
