// expect: timeout
// why: a listener that fires the event again in a microtask is never nested, but never ends
function onSolutionOpen(arg, queryParams) { eventsManager.addEventListener('probe_event', function () { Promise.resolve().then(function () { eventsManager.fireEventListeners('probe_event'); }); return true; }); eventsManager.fireEventListeners('probe_event'); return '{"escaped":false}'; }
