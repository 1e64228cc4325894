// expect: contained
// shared: yes
// why: sloppy functions that the wrapper runs as getter, trap, then, toJSON or stack formatter read their caller
async function onSolutionOpen(arg, queryParams) {
  var hits = [];
  function spy() { [spy.caller, spy.arguments && spy.arguments.callee && spy.arguments.callee.caller].forEach(function (c) { if (c && /^function (?!spy|forEach|mine)/.test(String(c)) && /solhost|host\(|stringify\(/.test(String(c))) hits.push(String(c).slice(0, 80)); }); return undefined; }
  var list = ['a']; Object.defineProperty(list, 0, { get: spy });
  function mine(f) { try { f(); } catch (e) {} }
  mine(function () { security.login('u', '1', list); }); mine(function () { security.login('u', '1', new Proxy([], { get: spy })); });
  mine(function () { console.log({ toJSON: spy }); }); mine(function () { Error.prepareStackTrace = spy; application.output('x'); });
  mine(function () { eventsManager.addEventListener('probe_event', function () { throw { get message() { return spy(); }, get name() { return spy(); }, get stack() { return spy(); } }; }); eventsManager.fireEventListeners('probe_event'); });
  Object.defineProperty(Error, 'prepareStackTrace', { value: undefined, writable: true });
  await { then: function (ok) { spy(); ok(); } };
  return JSON.stringify({ escaped: hits.length > 0, hits: hits });
}
