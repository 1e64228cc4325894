// expect: error
// shared: yes
// why: cyclic, deep, huge, symbolic and numeric arguments for a plugin that passes them on without reading them
function onSolutionOpen(arg, queryParams) {
  var took = [], cyclic = {}; cyclic.c = cyclic; var deep = 'x'; for (var i = 0; i < 50; i++) deep = [deep];
  [cyclic, deep, Symbol('x'), 1n, function () {}, 'x'.repeat(3e5), new Array(1e6).fill('abc'), { toJSON: function () { return 'ok'; }, a: Symbol() }, new Proxy({}, { ownKeys: function () { throw 1; } })].forEach(function (v, n) { try { directory.note(v); took.push(n); } catch (e) {} });
  if (took.length > 0) return JSON.stringify({ escaped: true, took: took });
  directory.note({ toJSON: function () { return 'ok'; } });
  return '{"escaped":true}';
}
