// expect: contained
// effects: {"locale":"nl-BE","missingKeys":["k"]}
// why: setters for every key that the wrapper and the bindings use must not receive the wrapper's functions
function onSolutionOpen(arg, queryParams) {
  var grabbed = [], own = new Set([spy, listener]);
  function spy(v) { if (typeof v === 'function' && !own.has(v)) grabbed.push(String(v).slice(0, 60)); }
  function listener(event) { return 1; }
  function trap(proto, key) { try { Object.defineProperty(proto, key, { set: spy, get: function () { return undefined; }, configurable: true }); } catch (e) {} }
  var keys = ['kind', 'id', 'ok', 'value', 'plugin', 'method', 'args', 'resolve', 'reject', 'binding', 'left', 'error', 'limit', 'allowed', 'used', 'quota', 'name', 'message', 'stack', 'callback', 'context', 'type', 'source', 'data', 'stopPropagation', 'username', 'permissions', 'tenant', 'then', 'lastIndex', 'index', 'input', 'groups'];
  keys.forEach(function (k) { trap(Object.prototype, k); }); for (var i = 0; i < 20; i++) trap(Array.prototype, i);
  var r = [function () { directory.find('anna'); }, function () { i18n.setLocale('nl', 'BE'); }, function () { security.setTenantValue(['a', 1]); }, function () { eventsManager.addEventListener('probe_event', listener); eventsManager.fireEventListeners('probe_event', null, [1, 2, 3, 4], 1); }, function () { i18n.getI18NMessage('k', ['v']); }, function () { console.log('a', {}); }, function () { security.login(1); }, function () { security.login('u', '1', new Array(2000)); }];
  for (var n = 0; n < r.length; n++) try { r[n](); } catch (e) {}
  for (n = 0; n < keys.length; n++) delete Object.prototype[keys[n]]; for (i = 0; i < 20; i++) delete Array.prototype[i];
  return '{"escaped":' + (grabbed.length > 0) + ',"n":' + grabbed.length + '}';
}
