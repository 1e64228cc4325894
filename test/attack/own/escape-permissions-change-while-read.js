// expect: contained
// effects: {"login":{"username":"guest","uid":"5","permissions":["Users","Guests"]}}
// shared: yes
// why: a getter returns Users first and Administrators afterwards: the checked value must be the one that is sent
function onSolutionOpen(arg, queryParams) {
  var reads = 0, list = ['', 'Guests'];
  Object.defineProperty(list, 0, { get: function () { return reads++ === 0 ? 'Users' : 'Administrators'; }, enumerable: true });
  var took = security.login('guest', '5', list);
  return JSON.stringify({ escaped: reads !== 1 || security.hasPermission('Administrators'), took: took, reads: reads });
}
