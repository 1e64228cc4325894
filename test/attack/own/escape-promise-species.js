// expect: contained
// why: scripts must not use a patched Promise to get the functions that tell the wrapper that a call has ended
var grabbed = [];
function onSolutionOpen(arg, queryParams) {
  var realThen = Promise.prototype.then;
  function Evil(executor) { return new Real(function (ok, no) { executor(ok, no); }); }
  var Real = Promise;
  Object.defineProperty(Promise, Symbol.species, { get: function () { return Evil; } });
  Promise.prototype.constructor = Evil; Evil[Symbol.species] = Evil;
  Promise.prototype.then = function (ok, no) { [ok, no].forEach(function (f) { if (typeof f === 'function' && /Text|done|finished/.test(String(f))) grabbed.push(String(f).slice(0, 80)); }); return Reflect.apply(realThen, this, [ok, no]); };
  Promise.resolve = Promise.reject = Promise.all = function () { grabbed.push('static'); };
  return new Real(function (ok) { ok(JSON.stringify({ escaped: grabbed.length > 0, grabbed: grabbed })); });
}
