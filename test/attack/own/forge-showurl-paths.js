// expect: contained
// effects: {"showUrl":"/..;//%2f%2fevil.example","showUrlTarget":null}
// shared: yes
// why: paths that a lax parser resolves to another server after dots and escapes must stay on this one
function onSolutionOpen(arg, queryParams) {
  ['/./', '/.//evil.example', '/..//evil.example', '/%2f/evil.example', '/%5cevil.example', '/;@evil.example', '/:@evil.example', '/..;//%2f%2fevil.example'].forEach(function (u) { application.showURL(u); });
  return JSON.stringify({ escaped: false });
}
