// expect: contained
// shared: yes
// why: objects that look or behave like strings are not valid results
function onSolutionOpen(arg, queryParams) {
  class Text extends String { toString() { return '{"escaped":true}'; } [Symbol.toPrimitive]() { return '{"escaped":true}'; } toJSON() { return '{"escaped":true}'; } }
  return new Proxy(new Text('{"escaped":true}'), {});
}
