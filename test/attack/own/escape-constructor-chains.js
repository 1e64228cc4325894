// expect: contained
// shared: yes
// why: values that a binding returns, throws or passes to callbacks must only give access to this context's Function
async function onSolutionOpen(arg, queryParams) {
  var start = [security, i18n, application, eventsManager, directory, console, EventType, EVENTS_AGGREGATION_TYPE, queryParams], foreign = [], seen = new Set();
  [function () { security.login(1); }, function () { application.showURL('x:y'); }, function () { eventsManager.fireEventListeners('none'); }, function () { i18n.setLocale(''); }, function () { security.login('u', '1', { length: 1 }); }, function () { security.login('u', '1', new Array(1e6)); }, function () { directory.note(function () {}); }].forEach(function (f) { try { f(); } catch (e) { start.push(e); } });
  start.push(eventsManager.addEventListener('probe_event', function (event) { start.push(event, arguments, this); return [event]; }));
  start.push(eventsManager.fireEventListeners('probe_event', null, [{}], EVENTS_AGGREGATION_TYPE.RETURN_VALUE_ARRAY), security.getUserPermissions());
  var answer = directory.find('anna'); start.push(answer, await answer);
  try { await directory.find('fails'); } catch (e) { start.push(e); }
  function walk(value, path) {
    if ((typeof value !== 'object' && typeof value !== 'function') || value === null || seen.has(value)) return;
    seen.add(value);
    if (typeof value === 'function' && value !== Function.prototype && !(value instanceof Function)) foreign.push('realm ' + path);
    try { var g = value.constructor.constructor('return this')(); if (g !== globalThis || typeof g.process !== 'undefined') foreign.push('global ' + path); } catch (e) {}
    walk(Object.getPrototypeOf(value), path + '^');
    Reflect.ownKeys(value).forEach(function (key) { var d = Object.getOwnPropertyDescriptor(value, key); [d.value, d.get, d.set].forEach(function (v) { walk(v, path + '.' + String(key)); }); });
  }
  start.forEach(function (value, index) { walk(value, String(index)); });
  return JSON.stringify({ escaped: foreign.length > 0, foreign: foreign.slice(0, 9), reached: seen.size });
}
