// expect: error
// also: contained
// also2: memory
// why: a function that is bound a hundred thousand times is unwrapped by native recursion
function onSolutionOpen(arg, queryParams) { var f = function () { return 1; }; for (var i = 0; i < 1e5; i++) f = f.bind(null); eventsManager.addEventListener('probe_event', f); return JSON.stringify({ escaped: false, r: eventsManager.fireEventListeners('probe_event') }); }
