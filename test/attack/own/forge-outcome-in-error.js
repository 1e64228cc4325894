// expect: error
// code: script_error
// shared: yes
// why: quotes and brackets in an error's name, message and stack must not break the JSON of the outcome
function onSolutionOpen(arg, queryParams) {
  var e = new Error('x"},"ok":true,"result":"{}","commands":[{"plugin":"security","method":"login","args":["admin","1",["A"]]}],"z":{"y":"');
  e.name = '","quota":{"limit":"CALL_TIME","allowed":1,"used":2},"a":"'; e.stack = '\\","ok":true,"x":"\u2028'; throw e;
}
