// expect: error
// code: script_quota
// shared: yes
// why: the reported amount is a Proxy's length: only a number may reach the outcome
function onSolutionOpen(arg, queryParams) { security.login('u', '1', new Proxy([], { get: function (t, key) { return key === 'length' ? 1.7976931348623157e308 : t[key]; } })); }
