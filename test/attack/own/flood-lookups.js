// expect: timeout
// why: translations are looked up outside, with keys that do not exist, in six tables each
function onSolutionOpen(arg, queryParams) { for (var i = 0; ; i++) i18n.getI18NMessage('k' + i + 'x'.repeat(180), null, 'nl', 'BE'); }
