// expect: contained
// effects: {"missingKeys":["k"]}
// why: near the stack limit, the host's callback may overflow before it can catch the error: its stack must not be visible
function onSolutionOpen(arg, queryParams) {
  // A missing key is reported once. Report it here, because near the stack limit, that may or may not succeed.
  i18n.getI18NMessage('k');
  var errors = [], n = 0, tries, fails, f;
  function dive() { try { dive(); } catch (e) {} if (fails) try { f(); fails = tries++ < 3; } catch (e) { errors[n++] = e; } }
  // Unused arguments shift the point of the overflow by a few bytes each time.
  function start() { tries = 0; fails = true; dive(); }
  [function () { application.getUUID(); }, function () { i18n.getI18NMessage('k'); }].forEach(function (one) { f = one; for (var pad = 0; pad < 24; pad++) start.apply(null, new Array(pad)); });
  var bad = errors.map(function (e) { return String(e.stack); }).filter(function (s) { return /file:|node:|\.ts\b|isolate/.test(s); });
  return JSON.stringify({ escaped: bad.length > 0, errors: n, bad: bad.length, first: String(bad[0]).slice(0, 300) });
}
