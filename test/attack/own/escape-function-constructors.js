// expect: contained
// shared: yes
// why: every way to compile a string must create code in this context, without process, require or module
function onSolutionOpen(arg, queryParams) {
  var ask = 'typeof process + typeof require + typeof module + typeof global + typeof Deno + (this === undefined || this === globalThis)', made = [];
  var kinds = [Function, (function* () {}).constructor, (async function () {}).constructor, (async function* () {}).constructor];
  kinds.forEach(function (F) { made.push(F('a = ' + JSON.stringify(1), 'return ' + ask)()); });
  made.push(Function('return ' + ask)(), eval(ask), (0, eval)(ask), new Function('return eval(' + JSON.stringify(ask) + ')')(), Reflect.construct(Function, ['return ' + ask])(), new (class extends Function {})('return ' + ask)());
  var texts = made.filter(function (m) { return typeof m === 'string'; });
  return JSON.stringify({ escaped: texts.some(function (t) { return t !== 'undefinedundefinedundefinedundefinedundefinedtrue'; }), texts: texts });
}
