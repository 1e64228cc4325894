// expect: contained
// effects: {"login":{"username":"guest","uid":"5","permissions":["Users"]}}
// shared: yes
// why: a login that overflows the stack half-way is sent completely or not at all, and never twice
function onSolutionOpen(arg, queryParams) {
  var took = 0;
  function dive() { try { dive(); } catch (e) {} try { if (security.login('guest', '5', ['Users'])) took++; } catch (e) {} }
  dive();
  return JSON.stringify({ escaped: took !== 1 || security.getUserName() !== 'guest', took: took });
}
