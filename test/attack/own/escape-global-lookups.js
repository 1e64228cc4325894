// expect: contained
// effects: {"locale":"nl","missingKeys":["k"]}
// shared: yes
// why: a Proxy behind the global object sees every name that is looked up: the bindings must not look up names
function onSolutionOpen(arg, queryParams) {
  var asked = [], on = false, seen = false;
  try { Object.setPrototypeOf(globalThis, new Proxy(Object.getPrototypeOf(globalThis), { has: function (t, k) { if (on) asked.push(String(k)); return k in t; }, get: function (t, k) { if (on) asked.push(String(k)); return t[k]; } })); seen = true; } catch (e) {}
  ['Error', 'TypeError', 'RangeError', 'Promise', 'JSON', 'Reflect', 'Object', 'Array', 'String', 'RegExp', 'Number', 'parseInt', 'isFinite', 'Symbol', 'Map', 'Set', 'eval', 'Function'].forEach(function (k) { var v = globalThis[k]; Object.defineProperty(globalThis, k, { get: function () { if (on) asked.push(k); return v; }, configurable: true }); });
  var log = console.log, login = security.login, locale = i18n.setLocale, url = application.showURL, fire = eventsManager.fireEventListeners, add = eventsManager.addEventListener, find = directory.find, message = i18n.getI18NMessage;
  on = true;
  try { login(1); } catch (e) {} try { locale('nl'); } catch (e) {} try { url('x:'); } catch (e) {} try { add('probe_event', url); fire('probe_event'); } catch (e) {} try { log({}); find('x'); message('k', [1]); } catch (e) {}
  on = false;
  return JSON.stringify({ escaped: asked.length > 0, asked: asked.slice(0, 9), seen: seen });
}
