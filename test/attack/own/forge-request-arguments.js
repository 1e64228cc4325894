// expect: contained
// shared: yes
// why: errors for requests with wrong types contain only the binding's name, never the host's reason
async function onSolutionOpen(arg, queryParams) {
  var texts = [];
  for (var v of [undefined, null, 5, {}, [], ['x', 'y'], { then: function () {} }, 'fails']) try { await directory.find(v); texts.push('took'); } catch (e) { if (!/^directory.find failed$|^the data contains a function; use only strings, numbers, booleans, null, arrays and objects$/.test(e.message) || e.cause !== undefined || /secret|file:|node:|\.ts/.test(e.stack)) texts.push(e.message + e.stack); }
  return JSON.stringify({ escaped: texts.length > 0, texts: texts });
}
