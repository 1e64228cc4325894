// expect: error
// shared: yes
// why: a command whose arguments its plugin does not take ends the call: nothing of it counts, nor of the login before
function onSolutionOpen(arg, queryParams) {
  security.login('admin', '1', ['Administrators']);
  directory.note.call({ plugin: 'security', method: 'login' }, { plugin: 'security', method: 'login', args: ['admin', '1', ['A']] });
  return '{"escaped":true}';
}
