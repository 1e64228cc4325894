// expect: contained
// shared: yes
// why: names, keys, URLs and targets with five million characters are rejected
function onSolutionOpen(arg, queryParams) {
  var t = 'x'.repeat(5e6), took = [];
  [function () { return security.login(t, '1', ['A']); }, function () { return security.login('u', '1', [t]); }, function () { i18n.setI18NMessage(t, 'x'); return 1; }, function () { i18n.setI18NMessage('k', t); return 1; }, function () { return i18n.getI18NMessage(t); }, function () { application.showURL('/' + t); return 1; }, function () { application.showURL('/a', t); return 1; }, function () { security.setTenantValue(t); return 1; }, function () { security.logout('x', t); return 1; }, function () { return eventsManager.addEventListener(t, function () {}); }, function () { directory.note(t); return 1; }, function () { application.showForm(t); return 1; }, function () { i18n.setLocale(t); return 1; }].forEach(function (f, i) { try { if (f()) took.push(i); } catch (e) {} });
  return JSON.stringify({ escaped: took.length > 0, took: took });
}
