// expect: timeout
// why: whether a listener answered with a Promise is asked by instanceof
function onSolutionOpen(arg, queryParams) { Object.defineProperty(Promise, Symbol.hasInstance, { value: function () { for (;;); } }); eventsManager.addEventListener('probe_event', function () { return {}; }); eventsManager.fireEventListeners('probe_event'); }
