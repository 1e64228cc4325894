// expect: contained
// also: error
// also2: timeout
// why: two hundred thousand requests at the same time: those over the limit are rejected before they are sent
async function onSolutionOpen(arg, queryParams) {
  var answered = 0, refused = 0, all = [];
  for (var i = 0; i < 2e5; i++) all.push(directory.find('x' + (i % 10)).then(function () { answered++; }, function () { refused++; }));
  await Promise.all(all);
  return JSON.stringify({ escaped: answered > 2000 || answered + refused !== 2e5, answered: answered });
}
