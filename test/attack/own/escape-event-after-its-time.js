// expect: contained
// why: an event object that the script keeps, or its functions with other receivers, must not affect later events
function onSolutionOpen(arg, queryParams) {
  var kept = [], ran = 0;
  eventsManager.addEventListener('probe_event', function (event) { kept.push(event); kept[0].stopPropagation.call(security); kept[0].stopPropagation(); kept[0].data.length = 0; return true; });
  eventsManager.addEventListener('probe_event', function () { ran++; return true; });
  eventsManager.fireEventListeners('probe_event', ['a']); eventsManager.fireEventListeners('probe_event', ['b']); eventsManager.fireEventListeners('probe_event', ['c']);
  return JSON.stringify({ escaped: ran !== 2 || kept[1].data[0] !== 'b' || kept[0] === kept[1], ran: ran });
}
