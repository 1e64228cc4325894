// expect: contained
// shared: yes
// why: the longest allowed result, with characters that become longer when escaped, must still fit into a frame
function onSolutionOpen(arg, queryParams) { var head = '{"escaped":false,"a":"'; return head + '\u2028'.repeat(65536 - head.length - 2) + '"}'; }
