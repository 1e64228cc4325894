// expect: contained
// shared: yes
// why: the call sites in a stack trace expose functions and receivers: trusted ones must not be accessible
function onSolutionOpen(arg, queryParams) {
  var taken = [], files = {}, logged = { toJSON: spy };
  Error.stackTraceLimit = 200;
  Error.prepareStackTrace = function (error, sites) {
    sites.forEach(function (site) {
      files[site.getFileName() || site.getScriptNameOrSourceURL()] = 1;
      [site.getFunction(), site.getThis()].forEach(function (v) { if (v !== undefined && v !== globalThis && v !== spy && v !== onSolutionOpen && v !== logged) taken.push(typeof v + ' ' + site); });
    });
    return 'x';
  };
  function spy() { return String(new Error().stack); }
  eventsManager.addEventListener('probe_event', spy); eventsManager.fireEventListeners('probe_event');
  application.output('x'); console.log(logged);
  [function spy1() { security.login(1); }, application.showURL, i18n.setLocale].forEach(function (f) { try { f(); } catch (e) { String(e.stack); } });
  Error.prepareStackTrace = undefined;
  var odd = Object.keys(files).filter(function (f) { return f !== 'solhost:guest' && !/^modules\/|^null$|^undefined$/.test(f); });
  taken = taken.filter(function (t) { return !/spy1/.test(t); });
  return JSON.stringify({ escaped: taken.length + odd.length > 0, taken: taken.slice(0, 9), odd: odd });
}
