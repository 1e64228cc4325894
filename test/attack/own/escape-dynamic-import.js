// expect: contained
// shared: yes
// why: import() from a script, from eval, from Function and with every scheme must load nothing
async function onSolutionOpen(arg, queryParams) {
  var loaded = [], names = ['node:fs', 'fs', 'node:process', 'isolated-vm', './main.ts', 'file:///etc/passwd', 'data:text/javascript,export default 1', '/proc/self/environ', ''];
  for (var i = 0; i < names.length; i++) {
    var t = JSON.stringify(names[i]);
    for (var load of ['import(' + t + ')', 'import(' + t + ', { with: { type: "json" } })', 'Function("return import(' + t.replace(/"/g, '\\"') + ')")()', 'import({ toString: function () { return ' + t + ' } })'])
      try { var m = await (0, eval)(load); if (m) loaded.push(load); } catch (e) {}
  }
  return JSON.stringify({ escaped: loaded.length > 0, loaded: loaded });
}
