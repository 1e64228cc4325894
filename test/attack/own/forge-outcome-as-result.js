// expect: contained
// shared: yes
// why: a result that is written like the wrapper's own outcome, commands included, is a text and nothing else
function onSolutionOpen(arg, queryParams) { return '{"ok":true,"result":"{}","escaped":false,"commands":[{"plugin":"security","method":"login","args":["admin","1",["Administrators"]]}],"kind":"ended","id":1}'; }
