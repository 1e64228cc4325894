// expect: contained
// why: a login three hundred microtasks after the returned Promise resolved has no effect
function onSolutionOpen(arg, queryParams) {
  var p = Promise.resolve('{"escaped":false}'), later = p;
  for (var i = 0; i < 300; i++) later = later.then(function () {});
  later.then(function () { security.login('late', '1', ['Administrators']); }).catch(function () {});
  return p;
}
