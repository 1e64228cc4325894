// expect: contained
// shared: yes
// why: an error in a plugin's host part, with its message, stack and cause, must not be visible to scripts
async function onSolutionOpen(arg, queryParams) {
  var e; try { await directory.find('fails'); } catch (error) { e = error; }
  var all = Reflect.ownKeys(e).map(function (k) { return String(e[k]); }).join() + e;
  return JSON.stringify({ escaped: /secret|host\.ts|file:|ZodError/.test(all) || !(e instanceof Error), all: all.slice(0, 200) });
}
