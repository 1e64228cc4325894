// expect: contained
// shared: yes
// why: objects that look or behave like a text are not a result
function onSolutionOpen(arg, queryParams) {
  class Text extends String { toString() { return '{"escaped":true}'; } [Symbol.toPrimitive]() { return '{"escaped":true}'; } toJSON() { return '{"escaped":true}'; } }
  return new Proxy(new Text('{"escaped":true}'), {});
}
