// expect: contained
// effects: {"login":{"username":"guest","uid":"5","permissions":["Users","Guests"]}}
// shared: yes
// why: what is checked is what is sent: a getter that says Users once and Administrators from then on
function onSolutionOpen(arg, queryParams) {
  var reads = 0, list = ['', 'Guests'];
  Object.defineProperty(list, 0, { get: function () { return reads++ === 0 ? 'Users' : 'Administrators'; }, enumerable: true });
  var took = security.login('guest', '5', list);
  return JSON.stringify({ escaped: reads !== 1 || security.hasPermission('Administrators'), took: took, reads: reads });
}
