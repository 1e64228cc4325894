// expect: contained
// shared: yes
// why: a target is a window name: markup, line breaks and numbers are invalid
function onSolutionOpen(arg, queryParams) {
  var took = ['"><script>', '_self\n', 'a b', '-a', '1a', 'x'.repeat(200), 'a\u0000', 'a"onload="x', '\u202ea', 'a/b', 'javascript:1'].filter(function (t) { try { application.showURL('/a', t); return true; } catch (e) { return false; } });
  return JSON.stringify({ escaped: took.length > 0, took: took });
}
