// expect: contained
// calls: 3
// effects: {"messages":{"k":"v"}}
// why: commands, requests and log lines near the stack limit must be sent completely or not at all
function onSolutionOpen(arg, queryParams) {
  var made = 0;
  function dive() { try { dive(); } catch (e) {} if (made < 150) try { console.log('edge'); directory.find('edge').catch(function () {}); i18n.setI18NMessage('k', 'v'); made++; } catch (e) {} }
  dive();
  return JSON.stringify({ escaped: false, made: made });
}
