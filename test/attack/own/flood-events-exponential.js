// expect: timeout
// also: error
// why: ten listeners that each fire for ten others: the depth is limited, the number is not
function onSolutionOpen(arg, queryParams) { var depth = 0; for (var i = 0; i < 10; i++) eventsManager.addEventListener('probe_event', function () { if (depth > 13) return true; depth++; eventsManager.fireEventListeners('probe_event'); depth--; return true; }); eventsManager.fireEventListeners('probe_event'); return '{"escaped":true}'; }
