// expect: timeout
// why: a thrown SuppressedError has four properties whose getters may not run outside the call's time limit
function onSolutionOpen(arg, queryParams) {
  var loop = function () { for (;;); };
  var hostile = { get message() { loop(); }, get stack() { loop(); }, get name() { loop(); } };
  var error = new SuppressedError(hostile, hostile, 'm');
  ['error', 'suppressed', 'message', 'stack'].forEach(function (key) { Object.defineProperty(error, key, { get: loop }); });
  throw error;
}
