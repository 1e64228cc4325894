// expect: contained
// calls: 2
// why: top-level code runs before a call, for example when a context is prepared for the next call. It must not be able to send commands
var took = [];
[function () { if (!security.login('admin', '1', ['Administrators'])) throw 1; }, function () { application.showURL('/x'); }, function () { directory.note('load'); }, function () { i18n.setLocale('nl'); }, function () { security.setTenantValue('t'); }].forEach(function (f, i) { try { f(); took.push(i); } catch (e) {} });
directory.find('load').then(function () { took.push('find'); }, function () {});
Promise.resolve().then(function () { try { if (security.login('admin', '1', ['Administrators'])) took.push('later'); } catch (e) {} });
function onSolutionOpen(arg, queryParams) { return JSON.stringify({ escaped: took.length > 0 || security.getUserName() !== null, took: took }); }
