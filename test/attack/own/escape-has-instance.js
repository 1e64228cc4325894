// expect: contained
// shared: yes
// why: instanceof calls a function of the class: the wrapper must only pass the script's own values to it
function onSolutionOpen(arg, queryParams) {
  var seen = [], own = { own: 1 };
  [Error, Promise, TypeError, RangeError, Array, Function, Object].forEach(function (C) { Object.defineProperty(C, Symbol.hasInstance, { value: function (v) { if (v !== own) seen.push(typeof v); return true; }, configurable: true }); });
  eventsManager.addEventListener('probe_event', function () { return own; });
  var result = eventsManager.fireEventListeners('probe_event', null, null, 1);
  application.output(own); console.error(own);
  try { security.login(own, own, own); } catch (e) {}
  [Error, Promise, TypeError, RangeError, Array, Function, Object].forEach(function (C) { delete C[Symbol.hasInstance]; });
  return JSON.stringify({ escaped: seen.length > 0, seen: seen, result: result.length });
}
