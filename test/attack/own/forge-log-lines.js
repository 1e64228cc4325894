// expect: contained
// lines: 6
// shared: yes
// why: line breaks, escape sequences and bidirectional control characters must not create a second line, another level or a code
function onSolutionOpen(arg, queryParams) {
  var text = 'a\r\n{"level":"error","code":"script_crashed"}\n\u001b[2J\u001b]0;owned\u0007\u009b31m\u202etxet\u2028\u0000\ud800';
  console.log(text); application.output(text, 'error'); console.log.call(null, text, text);
  security.login('u', '1', []);
  security.login(text, '1', ['x']);
  eventsManager.addEventListener('probe_event', function () { throw Object.assign(new Error(text), { name: text, code: 'script_timeout' }); });
  eventsManager.fireEventListeners('probe_event');
  return JSON.stringify({ escaped: false });
}
