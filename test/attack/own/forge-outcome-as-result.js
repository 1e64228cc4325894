// expect: contained
// shared: yes
// why: a result that imitates the wrapper's own outcome, including commands, is treated as a plain string
function onSolutionOpen(arg, queryParams) { return '{"ok":true,"result":"{}","escaped":false,"commands":[{"plugin":"security","method":"login","args":["admin","1",["Administrators"]]}],"kind":"ended","id":1}'; }
