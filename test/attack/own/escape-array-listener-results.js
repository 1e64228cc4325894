// expect: contained
// effects: {"login":{"username":"guest","uid":"5","permissions":["Users"]},"tenant":["t"]}
// shared: yes
// why: the array of listener results and the list of permissions are copies: the platform ignores changes to them
function onSolutionOpen(arg, queryParams) {
  var given = ['Users'], tenant = ['t'];
  security.login('guest', '5', given); security.setTenantValue(tenant); given.push('Administrators'); given[0] = 'Root'; tenant[0] = 'other';
  var read = security.getUserPermissions(); read.push('Administrators'); read[0] = 'Administrators'; security.getTenantValue().push('x');
  eventsManager.addEventListener('probe_event', function () { return 1; });
  eventsManager.fireEventListeners('probe_event', null, null, 1).push('x');
  return JSON.stringify({ escaped: security.hasPermission('Administrators') || security.getTenantValue().length !== 1 || eventsManager.fireEventListeners('probe_event', null, null, 1).length !== 1 });
}
