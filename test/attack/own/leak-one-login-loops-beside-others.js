// expect: contained
// also: timeout
// also2: busy
// calls: 5
// together: yes
// effects: {"login":{"username":"user-#","uid":"1","permissions":["Users"]}}
// why: one of five logins at once spins: none of the others may get its password or its end
async function onSolutionOpen(arg, queryParams) {
  security.login(queryParams.username, '1', ['Users']);
  await directory.find('slow');
  if (queryParams.username === 'user-2') for (;;);
  return JSON.stringify({ escaped: security.getUserName() !== queryParams.username });
}
