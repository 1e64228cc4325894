// expect: contained
// effects: {"locale":"nl"}
// shared: yes
// why: a quota stays used up even if a listener catches the error
function onSolutionOpen(arg, queryParams) {
  var n = 0, refused = 0;
  eventsManager.addEventListener('probe_event', function () { for (var i = 0; i < 3000; i++) try { i18n.setLocale('nl'); n++; } catch (e) { refused++; } return true; });
  for (var k = 0; k < 3; k++) eventsManager.fireEventListeners('probe_event');
  return JSON.stringify({ escaped: n > 2000 || n + refused !== 9000, n: n });
}
