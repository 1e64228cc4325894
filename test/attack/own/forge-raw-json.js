// expect: contained
// lines: 1
// why: objects of JSON.rawJSON write themselves into JSON as they like, so bindings must not accept them as texts
function onSolutionOpen(arg, queryParams) {
  var raw = JSON.rawJSON('"admin"'), accepted = [];
  [[raw, '1', ['Users']], ['guest', raw, ['Users']], ['guest', '1', [raw]], ['guest', '1', raw]].forEach(function (args, index) {
    try { if (security.login.apply(security, args)) accepted.push(index); } catch (error) {}
  });
  application.output(raw);
  return JSON.stringify({ escaped: accepted.length > 0, accepted: accepted });
}
