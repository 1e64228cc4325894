// expect: contained
// effects: {"showUrl":"/..;//%2f%2fevil.example","showUrlTarget":null}
// shared: yes
// why: paths with dots and escapes that a lax parser resolves to another server must stay on this server
function onSolutionOpen(arg, queryParams) {
  ['/./', '/.//evil.example', '/..//evil.example', '/%2f/evil.example', '/%5cevil.example', '/;@evil.example', '/:@evil.example', '/..;//%2f%2fevil.example'].forEach(function (u) { application.showURL(u); });
  return JSON.stringify({ escaped: false });
}
