// expect: timeout
// also: error
// why: ten listeners that each fire ten other events: the depth is limited, but not the number
function onSolutionOpen(arg, queryParams) { var depth = 0; for (var i = 0; i < 10; i++) eventsManager.addEventListener('probe_event', function () { if (depth > 13) return true; depth++; eventsManager.fireEventListeners('probe_event'); depth--; return true; }); eventsManager.fireEventListeners('probe_event'); return '{"escaped":true}'; }
