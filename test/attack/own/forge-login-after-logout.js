// expect: contained
// effects: {"logout":{"solution":null,"argument":null}}
// why: a logout frees no place for a second login of the same call
function onSolutionOpen(arg, queryParams) {
  security.login('guest', '5', ['Users']); security.logout();
  var again = security.login('admin', '1', ['Administrators']);
  return JSON.stringify({ escaped: again || security.getUserName() !== null });
}
