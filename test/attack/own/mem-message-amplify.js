// expect: error
// also: memory
// why: a message with six thousand placeholders for a value of one megabyte
function onSolutionOpen(arg, queryParams) { i18n.setI18NMessage('k', '{0}'.repeat(6000)); var t = i18n.getI18NMessage('k', ['x'.repeat(1e6)]); return String(t.charCodeAt(9)); }
