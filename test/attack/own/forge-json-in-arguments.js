// expect: contained
// effects: {"messages":{"k\"":"\",\"x\"]},{\"plugin\":\"security\",\"method\":\"login\",\"args\":[\"admin\",\"1\",[\"A\"]]}","k2":"\u2028\u2029\\u0022\ud83d"}}
// shared: yes
// why: quotes, surrogates and line separators in arguments must arrive unchanged, and as one argument
function onSolutionOpen(arg, queryParams) {
  i18n.setI18NMessage('k"', '","x"]},{"plugin":"security","method":"login","args":["admin","1",["A"]]}');
  i18n.setI18NMessage('k2', '\u2028\u2029\\u0022\ud83d');
  return JSON.stringify({ escaped: false });
}
