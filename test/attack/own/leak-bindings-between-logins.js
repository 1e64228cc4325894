// expect: contained
// calls: 3
// effects: {"login":{"username":"user-#","uid":"1","permissions":["Users"]},"tenant":["user-#"],"locale":"nl","messages":{"k":"secret-#"},"missingKeys":["k"]}
// why: one login's listeners, messages, locale, user and tenant are not visible to the next
function onSolutionOpen(arg, queryParams) {
  var left = [eventsManager.hasEventListeners('probe_event'), i18n.getI18NMessage('k') !== '!k!', i18n.getCurrentLanguage() !== 'en', security.getUserName() !== null, security.getTenantValue() !== null, security.getUserPermissions().length > 0];
  eventsManager.addEventListener('probe_event', function () { return queryParams.password; }); i18n.setI18NMessage('k', queryParams.password); i18n.setLocale('nl'); security.login(queryParams.username, '1', ['Users']); security.setTenantValue(queryParams.username);
  return JSON.stringify({ escaped: left.indexOf(true) >= 0, left: left });
}
