// expect: contained
// effects: {"login":{"username":"a\ud83d\ude00","uid":"x","permissions":["Users"]}}
// shared: yes
// why: names that an operator would misread: direction marks, control characters, lone surrogates, and two hundred characters
function onSolutionOpen(arg, queryParams) {
  var took = ['\u202animda', 'a\u2069', '\u2067a', 'a\u0085', 'a\u007f', 'a\udc00\ud800', '\udc00a', 'x'.repeat(201), '\u009f'].filter(function (n) { return security.login(n, 'x', ['Users']) || security.login('x', n, ['Users']); });
  security.login('a\ud83d\ude00', 'x', ['Users']);
  return JSON.stringify({ escaped: took.length > 0, took: took.length });
}
