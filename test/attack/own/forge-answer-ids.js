// expect: contained
// shared: yes
// why: many simultaneous requests with responses in a different order: each promise must get its own response
async function onSolutionOpen(arg, queryParams) {
  var names = ['slow', 'anna', '__proto__', 'constructor', 'slow', 'toString', '1', '2'];
  var answers = await Promise.all(names.map(function (n) { return directory.find(n); }));
  return JSON.stringify({ escaped: answers.some(function (a, i) { return a.name !== names[i]; }) });
}
