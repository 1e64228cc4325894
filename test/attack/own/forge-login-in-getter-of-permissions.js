// expect: contained
// effects: {"login":{"username":"inner","uid":"1","permissions":["Inner"]}}
// shared: yes
// why: a login while another login's permissions are read: only one is used, and it is the one that was sent
function onSolutionOpen(arg, queryParams) {
  var list = ['x']; Object.defineProperty(list, 0, { get: function () { security.login('inner', '1', ['Inner']); return 'Outer'; } });
  var outer = security.login('outer', '2', list);
  return JSON.stringify({ escaped: outer || security.getUserName() !== 'inner' });
}
