// expect: contained
// also: error
// shows: still true
// alone: yes
// Guest parts keep their own copies of built-ins: a script's changes to them must not affect what the host gets.
for (const name of ['form', 'element', 'elements', 'title', 'label', 'toJSON', 'kind', 'items', 'property', 'value']) {
  Object.defineProperty(Object.prototype, name, { get: () => 'ESCAPED', set() {}, configurable: true })
}
JSON.stringify = () => '{"form":"second","elements":{}}'
JSON.parse = () => ({ title: 'ESCAPED', names: ['said'], handlers: {} })
Object.keys = () => ['ESCAPED']
Object.freeze = (value) => value
Array.prototype.push = () => {
  throw new Error('ESCAPED')
}
Array.prototype[Symbol.iterator] = function* () {
  yield 'ESCAPED'
}
String.prototype.slice = () => 'ESCAPED'
Reflect.apply = Function.prototype.call = Function.prototype.apply = () => 'ESCAPED'
Promise.prototype.then = () => 'ESCAPED'
globalThis.Proxy = globalThis.Object = globalThis.Array = null
function attack() {
  forms.main.elements.said.label = 'still true'
}
