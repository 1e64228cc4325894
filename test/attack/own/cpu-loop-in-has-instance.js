// expect: timeout
// why: the wrapper uses instanceof to find out whether a listener returned a Promise
function onSolutionOpen(arg, queryParams) { Object.defineProperty(Promise, Symbol.hasInstance, { value: function () { for (;;); } }); eventsManager.addEventListener('probe_event', function () { return {}; }); eventsManager.fireEventListeners('probe_event'); }
