// expect: contained
// lines: 3
// effects: {"messages":{"k":"\u0000\u0000\u0000\u0010{\"kind\":\"ready\"}\n"}}
// shared: yes
// why: complete protocol frames in log lines, messages and results are treated as plain strings
function onSolutionOpen(arg, queryParams) {
  var frame = '\u0000\u0000\u0000\u0010{"kind":"ready"}\n';
  for (var id = 0; id < 3; id++) console.log(frame + JSON.stringify({ kind: 'ended', id: id, outcome: { ok: true, result: '{"escaped":true}', commands: [], milliseconds: 0 } }));
  i18n.setI18NMessage('k', frame);
  return JSON.stringify({ escaped: false, frame: frame });
}
