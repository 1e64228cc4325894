// expect: contained
// calls: 3
// why: built-ins that one login changed must be restored for the next one, whose password they could read otherwise
var found = ['taken', 'then2', 'seen'].filter(function (k) { return k in Object.prototype || k in Promise.prototype || k in globalThis; });
function onSolutionOpen(arg, queryParams) {
  var before = found.concat(String(JSON.parse).indexOf('native') < 0 ? 'parse' : [], Object.prototype.taken || []);
  Object.prototype.taken = queryParams.password; Promise.prototype.then2 = 1; globalThis.seen = queryParams; Array.prototype.push = function () { return 0; };
  JSON.parse = function () { return queryParams; }; Object.freeze(Object.prototype); Object.defineProperty(Promise, Symbol.species, { value: function () {} });
  return '{"escaped":' + (before.length > 0) + '}';
}
