// expect: contained
// effects: {"locale":"nl-BE","showUrl":"/a","showUrlTarget":null,"messages":{"k":"a{0}b"},"tenant":["t",1],"login":{"username":"guest","uid":"5","permissions":["Users"]},"notes":["x"]}
// why: every method of every built-in class is replaced: bindings must not call any of them
function onSolutionOpen(arg, queryParams) {
  var calls = [], undo = [], quiet = true;
  [JSON, Reflect, Object, Array, Array.prototype, String.prototype, RegExp.prototype, Map.prototype, Set.prototype, Promise, Promise.prototype, Function.prototype, Number, Number.prototype, Symbol.prototype, Math, Object.prototype, Error.prototype, Error, String].forEach(function (o) {
    Reflect.ownKeys(o).forEach(function (key) {
      var d = Object.getOwnPropertyDescriptor(o, key);
      if (!d.configurable || typeof d.value !== 'function' || key === 'constructor') return;
      undo.push([o, key, d]);
    });
  });
  var define = Object.defineProperty;
  undo.forEach(function (u) { define(u[0], u[1], { value: function () { if (!quiet) calls[calls.length] = String(u[1].description || u[1]); return undefined; }, configurable: true, writable: true }); });
  quiet = false;
  try { i18n.setLocale('nl', 'BE'); } catch (e) {}
  try { i18n.setI18NMessage('k', 'a{0}b'); i18n.getI18NMessage('k', ['x']); } catch (e) {}
  try { application.showURL('/a'); application.getUUID(); application.output('x', 'warning'); } catch (e) {}
  try { security.setTenantValue(['t', 1]); security.getTenantValue(); security.hasPermission('x'); } catch (e) {}
  try { eventsManager.addEventListener('probe_event', function () { return true; })(); eventsManager.fireEventListeners('probe_event', 'c', [1, 2, 3, 4, 5]); } catch (e) {}
  try { directory.note('x'); directory.find('x'); security.login('guest', '5', ['Users']); } catch (e) {}
  quiet = true;
  for (var i = 0; i < undo.length; i++) define(undo[i][0], undo[i][1], undo[i][2]);
  return JSON.stringify({ escaped: calls.length > 0, calls: calls.slice(0, 9) });
}
