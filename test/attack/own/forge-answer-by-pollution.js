// expect: contained
// why: a then method on Object.prototype runs when a response is resolved: it may only see the response
async function onSolutionOpen(arg, queryParams) {
  var seen = [];
  Object.defineProperty(Object.prototype, 'then', { configurable: true, get: function () { if (this === globalThis) return undefined; seen.push(Object.keys(this).join()); return undefined; } });
  var answer = await directory.find('anna');
  delete Object.prototype.then;
  return JSON.stringify({ escaped: seen.some(function (s) { return s !== 'name,groups'; }) || answer.name !== 'anna', seen: seen });
}
