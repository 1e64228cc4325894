// expect: contained
// why: import() with attributes, import.source() and import.defer() load nothing, and their errors are of the script's realm
async function onSolutionOpen(arg, queryParams) {
  var forms = ["import('node:fs', { with: { type: 'json' } })", "import.source('node:fs')", "import.defer('node:fs')",
    "import('node:fs', { get with() { return { get type() { throw 1; } }; } })"];
  var found = [];
  for (var form of forms) {
    try { await (0, eval)(form); found.push(form); } catch (error) { if (error instanceof Object && error.constructor.constructor !== Function) found.push('error of ' + form); }
  }
  return JSON.stringify({ escaped: found.length > 0, found: found });
}
