// expect: contained
// shared: yes
// why: only declared types exist: prototype keys, built-in types and control characters are rejected
function onSolutionOpen(arg, queryParams) {
  var took = [];
  ['__proto__', 'constructor', 'toString', 'hasOwnProperty', '', 'probe_event\u0000', 'PROBE_EVENT', null, {}, Symbol.iterator, ['probe_event'], 'x'.repeat(1e6), '\u001b[2J'].forEach(function (t, i) { ['addEventListener', 'fireEventListeners', 'hasEventListeners', 'removeEventListener'].forEach(function (m) { try { var answer = eventsManager[m](t, onSolutionOpen); if (!(m === 'removeEventListener' && t === null && answer === false)) took.push(m + i); } catch (e) { if (String(e.message).length > 2000) took.push('long ' + i); } }); });
  Object.keys(EventType).forEach(function (t) { if (!/^probe/.test(t)) try { eventsManager.fireEventListeners(t); took.push(t); } catch (e) {} });
  return JSON.stringify({ escaped: took.length > 0, took: took });
}
