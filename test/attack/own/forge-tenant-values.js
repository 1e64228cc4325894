// expect: contained
// effects: {"login":{"username":"guest","uid":"5","permissions":["Users"]},"tenant":["ok",0]}
// shared: yes
// why: tenant values that are not finite numbers or well-formed strings are rejected
function onSolutionOpen(arg, queryParams) {
  var took = [], holes = ['a']; holes.length = 3;
  [NaN, Infinity, -Infinity, '\ud800', 'x'.repeat(201), [], new Array(101).fill(1), holes, [['a']], [{}], [null], 1n, Symbol(), function () {}, new String('a'), new Proxy(['a'], { get: function (t, k) { return k === 'length' ? 101 : 'a'; } })].forEach(function (v, i) { try { security.setTenantValue(v); took.push(i); } catch (e) {} });
  security.login('guest', '5', ['Users']); security.setTenantValue(['ok', -0]);
  return JSON.stringify({ escaped: took.length > 0, took: took });
}
