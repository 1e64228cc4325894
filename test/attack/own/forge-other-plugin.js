// expect: error
// shared: yes
// why: a command with invalid arguments ends the call, and none of its effects apply, not even an earlier login
function onSolutionOpen(arg, queryParams) {
  security.login('admin', '1', ['Administrators']);
  directory.note.call({ plugin: 'security', method: 'login' }, { plugin: 'security', method: 'login', args: ['admin', '1', ['A']] });
  return '{"escaped":true}';
}
