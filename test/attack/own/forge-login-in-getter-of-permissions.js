// expect: contained
// effects: {"login":{"username":"inner","uid":"1","permissions":["Inner"]}}
// shared: yes
// why: a second login starts while the first one's permissions are read: only the login that was sent is used
function onSolutionOpen(arg, queryParams) {
  var list = ['x']; Object.defineProperty(list, 0, { get: function () { security.login('inner', '1', ['Inner']); return 'Outer'; } });
  var outer = security.login('outer', '2', list);
  return JSON.stringify({ escaped: outer || security.getUserName() !== 'inner' });
}
