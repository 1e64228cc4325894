// expect: contained
// also: timeout
// why: errors in listeners are logged, and these lines count towards the log quota
function onSolutionOpen(arg, queryParams) { for (var i = 0; i < 50; i++) eventsManager.addEventListener('probe_event', function () { throw new Error('x'.repeat(5000)); }); for (i = 0; i < 200; i++) eventsManager.fireEventListeners('probe_event'); return '{"escaped":false}'; }
