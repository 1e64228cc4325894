// expect: contained
// calls: 6
// together: yes
// effects: {"login":{"username":"user-#","uid":"1","permissions":["Users"]},"locale":"nl","messages":{"k":"secret-#"}}
// why: six logins wait in one process at the same time: each keeps its own user, locale, messages and responses
async function onSolutionOpen(arg, queryParams) {
  var mine = queryParams.username; globalThis.last = mine; i18n.setI18NMessage('k', queryParams.password); security.login(mine, '1', ['Users']);
  Promise.prototype.then = new Proxy(Promise.prototype.then, {}); Array.prototype[0] = mine;
  for (var i = 0; i < 3; i++) { var answer = await directory.find('slow'); i18n.setLocale('nl'); }
  return JSON.stringify({ escaped: globalThis.last !== mine || security.getUserName() !== mine || i18n.getI18NMessage('k') !== queryParams.password || [,][0] !== mine });
}
