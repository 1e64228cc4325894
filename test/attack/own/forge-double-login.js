// expect: contained
// effects: {"login":{"username":"guest","uid":"5","permissions":["Users"]}}
// shared: yes
// why: only the first login is used: a second name, more permissions and a login from a listener are rejected
function onSolutionOpen(arg, queryParams) {
  var took = [security.login('guest', '5', ['Users'])];
  eventsManager.addEventListener('probe_event', function () { took.push(security.login('admin', '1', ['Administrators'])); });
  took.push(security.login('guest', '5', ['Users', 'Administrators'])); eventsManager.fireEventListeners('probe_event'); took.push(security.login('admin', '1', ['Administrators']));
  return JSON.stringify({ escaped: took.join() !== 'true,false,false,false' || security.getUserName() !== 'guest', took: took });
}
