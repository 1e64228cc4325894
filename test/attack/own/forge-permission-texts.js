// expect: contained
// calls: 7
// why: a permission is displayed and stored, so it must not contain control characters, direction marks or lone surrogates
function onSolutionOpen(arg, queryParams) {
  var text = ['a\u0000b', 'a\r\nb', '\u001b[31m', '\u202enimda', '\u2066x', '\ud800', '\u009b'][Number(queryParams.username.slice(5))], took = false;
  try { took = security.login('u', '1', [text]); } catch (e) {}
  return JSON.stringify({ escaped: took, text: text });
}
