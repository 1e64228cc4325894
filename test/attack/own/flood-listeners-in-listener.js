// expect: contained
// shared: yes
// why: the limit counts listeners of all types, also those added by listeners; removing one twice has no further effect
function onSolutionOpen(arg, queryParams) {
  var made = 0, off = [];
  function add() { for (var i = 0; i < 700; i++) try { off.push(eventsManager.addEventListener(i % 2 ? 'probe_event' : 'probe_event_2', add2, 'ctx' + i)); made++; } catch (e) {} return true; }
  function add2() { return true; }
  eventsManager.addEventListener('probe_event', add); eventsManager.fireEventListeners('probe_event'); eventsManager.fireEventListeners('probe_event');
  var before = made; for (var k = 0; k < 50; k++) off[0](); eventsManager.fireEventListeners('probe_event');
  return JSON.stringify({ escaped: before > 999 || made > before + 1, before: before, made: made });
}
