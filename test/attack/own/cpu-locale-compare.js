// expect: timeout
// also: error
// also2: memory
// why: comparing two long texts by a locale's rules is native
function onSolutionOpen(arg, queryParams) { var a = '\u00e9'.repeat(2e7); for (;;) (a + 'x').localeCompare(a + 'y', 'de-u-co-phonebk', { usage: 'search' }); }
