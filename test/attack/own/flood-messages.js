// expect: error
// code: script_quota
// shared: yes
// why: a hundred messages with twenty thousand characters each
function onSolutionOpen(arg, queryParams) { for (var i = 0; i < 100; i++) i18n.setI18NMessage('k' + i, 'x'.repeat(20000)); return '{"escaped":true}'; }
