// expect: contained
// effects: {"locale":"nl-BE"}
// shared: yes
// why: letters that fold to ASCII, separators and long strings are not valid in a language or country
function onSolutionOpen(arg, queryParams) {
  i18n.setLocale('nl', 'be'); var took = [];
  [['e', ''], ['english'], ['\u0130n'], ['en\n'], ['en', 'B\n'], ['en', 'USA'], ['en-US'], ['../'], ['en', '../'], ['en', 5], [['en']], ['en', '\u0131n'], ['\ufb01x', ''], ['__proto__'], ['e\u0301n']].forEach(function (a, i) { try { i18n.setLocale(a[0], a[1]); took.push(i + ':' + i18n.getCurrentLanguage() + '-' + i18n.getCurrentCountry()); i18n.setLocale('nl', 'be'); } catch (e) {} });
  var odd = took.filter(function (t) { return !/:[a-z]{2,3}-([A-Z]{2}|[0-9]{3})?$/.test(t); });
  return JSON.stringify({ escaped: odd.length > 0, took: took });
}
