// expect: contained
// also: timeout
// why: listeners that throw are reported: the reports share the quota of the log
function onSolutionOpen(arg, queryParams) { for (var i = 0; i < 50; i++) eventsManager.addEventListener('probe_event', function () { throw new Error('x'.repeat(5000)); }); for (i = 0; i < 200; i++) eventsManager.fireEventListeners('probe_event'); return '{"escaped":false}'; }
