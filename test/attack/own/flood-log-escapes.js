// expect: contained
// shared: yes
// why: characters that JSON escapes to six characters: the quota counts the unescaped characters
function onSolutionOpen(arg, queryParams) { for (var i = 0; i < 1000; i++) console.log('\u0001\ud800\u2028'.repeat(2700)); return '{"escaped":false}'; }
