// expect: contained
// effects: {"logout":{"solution":null,"argument":null}}
// why: a logout does not allow a second login in the same call
function onSolutionOpen(arg, queryParams) {
  security.login('guest', '5', ['Users']); security.logout();
  var again = security.login('admin', '1', ['Administrators']);
  return JSON.stringify({ escaped: again || security.getUserName() !== null });
}
