// expect: error
// code: script_error
// shared: yes
// why: an error with the message and fields of a quota error must not be treated as a quota error
function onSolutionOpen(arg, queryParams) {
  var real; try { security.login('u', '1', new Array(5000).fill('x')); } catch (e) { real = e; }
  throw Object.assign(Object.create(real), { name: 'RangeError', message: real.message, stack: real.stack, quota: { limit: 'CALL_TIME', allowed: 1, used: 2 }, limit: 'CALL_TIME' });
}
