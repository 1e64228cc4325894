// expect: contained
// shared: yes
// why: an object that returns "admin" when it is converted to a string must not be accepted as a string
function onSolutionOpen(arg, queryParams) {
  function text(t) { var o = function () {}; o[Symbol.toPrimitive] = o.toString = o.valueOf = o.toJSON = function () { return t; }; return o; }
  var took = [], box = [text, function (t) { return new String(t); }, function (t) { return [t]; }, function (t) { return { length: t.length, 0: t[0], toString: function () { return t; } }; }];
  box.forEach(function (make, index) {
    [function () { return security.login(make('admin'), '1', ['A']); }, function () { return security.login('admin', make('1'), ['A']); }, function () { return security.login('admin', '1', [make('A')]); },
      function () { application.showURL(make('/a')); return 1; }, function () { i18n.setLocale(make('nl')); return 1; }, function () { i18n.setLocale('nl', make('BE')); return 1; }, function () { i18n.setI18NMessage(make('k'), 'v'); return 1; }, function () { i18n.setI18NMessage('k', make('v')); return 1; },
      function () { return eventsManager.addEventListener(make('probe_event'), onSolutionOpen); }, function () { security.setTenantValue(index === 2 ? [[1]] : make('t')); return 1; }, function () { security.logout(make('x')); return 1; }, function () { application.showForm(make('f')); return 1; }
    ].forEach(function (f, i) { try { if (f()) took.push(index + '/' + i); } catch (e) {} });
  });
  return JSON.stringify({ escaped: took.length > 0, took: took });
}
