// expect: timeout
// why: the host looks up translations: each missing key is looked up in six tables
function onSolutionOpen(arg, queryParams) { for (var i = 0; ; i++) i18n.getI18NMessage('k' + i + 'x'.repeat(180), null, 'nl', 'BE'); }
