// expect: contained
// also: timeout
// calls: 5
// together: yes
// effects: {"login":{"username":"user-#","uid":"1","permissions":["Users"]}}
// why: one of five simultaneous logins loops: the others must not get its password or its outcome
async function onSolutionOpen(arg, queryParams) {
  security.login(queryParams.username, '1', ['Users']);
  await directory.find('slow');
  if (queryParams.username === 'user-2') for (;;);
  return JSON.stringify({ escaped: security.getUserName() !== queryParams.username });
}
