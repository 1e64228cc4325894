// expect: contained
// why: globals of the platform and their properties cannot be replaced, deleted, extended or given another prototype
function onSolutionOpen(arg, queryParams) {
  var changed = [], names = ['security', 'i18n', 'application', 'eventsManager', 'EventType', 'EVENTS_AGGREGATION_TYPE', 'console', 'directory'];
  names.forEach(function (name) {
    var before = globalThis[name], keys = Reflect.ownKeys(before).length;
    [function () { globalThis[name] = 1; }, function () { delete globalThis[name]; }, function () { Object.defineProperty(globalThis, name, { value: 1 }); }, function () { Object.defineProperty(globalThis, name, { get: function () { return 1; } }); }, function () { before.added = 1; }, function () { Object.setPrototypeOf(before, { evil: 1 }); },
      function () { Object.keys(before).forEach(function (k) { before[k] = null; delete before[k]; if (typeof before[k] === 'function') { before[k].extra = 1; Object.setPrototypeOf(before[k], null); } }); }, function () { Object.assign(before, { login: 1 }); }, function () { before.__defineGetter__('login', function () {}); }, function () { globalThis.__proto__ = { security: 1 }; }
    ].forEach(function (f, i) { try { f(); } catch (e) {} if (globalThis[name] !== before || Reflect.ownKeys(before).length !== keys || before.evil || before.added) changed.push(name + i); });
  });
  ['login', 'getUserName'].forEach(function (k) { if (typeof security[k] !== 'function' || security[k].extra || Object.getPrototypeOf(security[k]) === null) changed.push(k); });
  return JSON.stringify({ escaped: changed.length > 0, changed: changed });
}
