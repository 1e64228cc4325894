// expect: contained
// calls: 4
// why: a context may be created in advance of its login: its top-level values must only be visible to that login
var kept = { n: 0 }, cell = new WeakMap(), gen = (function* () { var before, now = yield; for (;;) { var out = before; before = now; now = yield out; } })(); gen.next();
class Shared { static #last = null; static swap(v) { var was = Shared.#last; Shared.#last = v; return was; } }
function tag(strings) { return strings; }
var site = function () { return tag`x`; };
function onSolutionOpen(arg, queryParams) {
  var left = [kept.n++ > 0, gen.next(queryParams.password).value !== undefined, Shared.swap(queryParams.password) !== null, cell.has(site()), onSolutionOpen.used === true];
  cell.set(site(), queryParams.password); onSolutionOpen.used = true;
  return JSON.stringify({ escaped: left.indexOf(true) >= 0, left: left });
}
