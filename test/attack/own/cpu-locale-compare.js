// expect: timeout
// also: error
// also2: memory
// why: native code compares two long strings by a locale's rules
function onSolutionOpen(arg, queryParams) { var a = '\u00e9'.repeat(2e7); for (;;) (a + 'x').localeCompare(a + 'y', 'de-u-co-phonebk', { usage: 'search' }); }
