// expect: contained
// why: patched RegExp, String and Array methods must not bypass the bindings' checks
function onSolutionOpen(arg, queryParams) {
  var took = [], yes = function () { return true; };
  RegExp.prototype.exec = function () { return ['x']; }; RegExp.prototype.test = yes; RegExp.prototype[Symbol.match] = yes;
  String.prototype.isWellFormed = yes; String.prototype.toLowerCase = String.prototype.toUpperCase = function () { return 'nl'; };
  String.prototype.indexOf = function () { return 0; }; Array.isArray = yes; Number.isFinite = globalThis.isFinite = yes; String.prototype.match = yes;
  [function () { i18n.setLocale('../../x'); }, function () { i18n.setLocale('nl', '"><b>'); }, function () { application.showURL('javascript:1'); }, function () { application.showURL('/a', '"><script>'); }, function () { security.setTenantValue('\ud800'); }, function () { security.setTenantValue(NaN); },
    function () { if (!security.login('a\u0000b', '1', ['x'])) throw 0; }, function () { if (!security.login('\ud800', '1', ['x'])) throw 0; }, function () { security.login('a', '1', { length: 1, 0: 'x' }); }, function () { application.showForm('nowhere'); }, function () { eventsManager.fireEventListeners('onLoad'); }
  ].forEach(function (f, i) { try { f(); took.push(i); } catch (e) {} });
  return JSON.stringify({ escaped: took.length > 0, took: took });
}
