// expect: contained
// also: error
// effects: {"tenant":["probe_event"],"logout":{"solution":null,"argument":null},"needsSecondFactor":true}
// why: a Proxy as each argument of each binding: its traps may only see the script's own values
function onSolutionOpen(arg, queryParams) {
  var foreign = [], asked = {};
  function noisy(target) {
    return new Proxy(target, new Proxy({}, { get: function (_, trap) { return function (t, key, value, receiver) {
      asked[trap] = 1;
      [key, value, receiver].forEach(function (v) { if (typeof v === 'function' && v !== target) foreign.push(trap + ' ' + String(v).slice(0, 60)); });
      return Reflect[trap].apply(null, arguments); }; } }));
  }
  var values = [noisy({}), noisy([]), noisy(function () { return noisy({}); }), noisy(['a']), noisy(new Error('x')), noisy(Promise.resolve())];
  [security, i18n, application, eventsManager, directory, console].forEach(function (binding) {
    Object.keys(binding).forEach(function (name) { if (/^(login|logout|note)$/.test(name)) return; values.forEach(function (v) { try { binding[name](v, v, v, v); } catch (e) {} try { binding[name]('probe_event', v, v, v); } catch (e) {} }); });
  });
  values.forEach(function (v) { try { security.login('u', '1', v); } catch (e) {} try { security.login(v, v, v); } catch (e) {} });
  var p = Proxy.revocable([], {}); p.revoke();
  try { security.login('u', '1', p.proxy); } catch (e) {}
  try { console.log(p.proxy); } catch (e) { foreign.push('log threw'); }
  security.logout();
  return JSON.stringify({ escaped: foreign.length > 0, foreign: foreign.slice(0, 5), asked: Object.keys(asked) });
}
