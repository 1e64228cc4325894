// expect: contained
// shared: yes
// why: captureStackTrace on bindings, frozen objects and with a binding as the start function
function onSolutionOpen(arg, queryParams) {
  var texts = [];
  Error.stackTraceLimit = Infinity;
  [security, security.login, eventsManager, EventType, application.showURL].forEach(function (o) { try { Error.captureStackTrace(o); texts.push(o.stack); } catch (e) { texts.push(e.stack); } });
  eventsManager.addEventListener('probe_event', function () { var o = {}; Error.captureStackTrace(o, eventsManager.fireEventListeners); texts.push(o.stack); Error.captureStackTrace(o); texts.push(o.stack); });
  eventsManager.fireEventListeners('probe_event');
  var bad = texts.filter(function (t) { return /file:|node:|\/work|isolated-vm|\.ts:/.test(String(t)); });
  return JSON.stringify({ escaped: bad.length > 0 || 'stack' in security, bad: bad.slice(0, 3), n: texts.length });
}
