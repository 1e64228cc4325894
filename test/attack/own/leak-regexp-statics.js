// expect: contained
// calls: 2
// effects: {"locale":"nl","showUrl":"http://host.example/secret-#","showUrlTarget":"_self"}
// why: the last match of an earlier login must not be readable with statics, a subclass or compile
function onSolutionOpen(arg, queryParams) {
  class Sub extends RegExp {}
  var seen = [];
  try { application.showURL('http://host.example/' + queryParams.password, '_self'); i18n.setLocale('nl'); } catch (e) {}
  ['$1', '$_', '$&', 'input', 'lastMatch', 'leftContext', 'rightContext', '$`', "$'", '$+', 'lastParen'].forEach(function (k) { if (k in RegExp && RegExp[k]) seen.push(k); try { if (Sub[k]) seen.push('sub ' + k); } catch (e) {} });
  return JSON.stringify({ escaped: seen.length > 0, seen: seen });
}
