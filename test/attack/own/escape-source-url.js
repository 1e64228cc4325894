// expect: contained
// why: code that is named like a trusted file or a host file is neither trusted nor reported as that file
function onSolutionOpen(arg, queryParams) {
  var names = ['solhost:guest', 'file:///etc/passwd', 'solhost:host', 'modules/other/globals.js'], same = [];
  names.forEach(function (n) {
    try { (0, eval)('throw new Error("x")\n//# sourceURL=' + n); } catch (e) { console.log(e.stack); }
    (0, eval)('var f = function () { return [security.login.caller, security.login.arguments] }\n//# sourceURL=' + n);
    try { same.push(String(f())); } catch (e) {}
  });
  return JSON.stringify({ escaped: same.length > 0, same: same });
}
