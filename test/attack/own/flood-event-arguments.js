// expect: error
// code: script_quota
// shared: yes
// why: a million arguments for each of a thousand listeners
function onSolutionOpen(arg, queryParams) { for (var i = 0; i < 1000; i++) eventsManager.addEventListener('probe_event', function () {}); eventsManager.fireEventListeners('probe_event', new Array(1e6)); return '{"escaped":true}'; }
