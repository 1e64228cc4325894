// expect: contained
// effects: {"login":{"username":"guest","uid":"5","permissions":["Users"]}}
// shared: yes
// why: a Proxy list whose length grows each time it is read, and another that shrinks while it is read
function onSolutionOpen(arg, queryParams) {
  var asked = 0, list = new Proxy(['Users', 'Administrators'], { get: function (t, key) { if (key === 'length') return ++asked; return t[key]; }, has: function () { return true; }, ownKeys: function () { return ['1', 'length']; } });
  var shrinking = ['a', 'b', 'c'];
  Object.defineProperty(shrinking, 0, { get: function () { shrinking.length = 1; return 'a'; } });
  var refused = []; [NaN, Infinity, -1, '2', 1n, {}, null, undefined].forEach(function (length) { try { security.login('u', '1', new Proxy(['x'], { get: function (t, k) { return k === 'length' ? length : t[k]; } })); refused.push(String(length)); } catch (e) {} });
  try { security.login('u', '1', shrinking); refused.push('shrinking'); } catch (e) {}
  security.login('guest', '5', list);
  return JSON.stringify({ escaped: refused.length > 0 || asked !== 1, refused: refused });
}
