// expect: contained
// also: memory
// also2: timeout
// why: the next login's context is created in advance, when no call is monitored. Its memory must have the same limit
var kept = [];
if (Date.now() % 1000 < 150) for (var i = 0; i < 12; i++) { var b = new ArrayBuffer(0, { maxByteLength: 1 << 30 }); b.resize(1 << 26); for (var v = new Uint8Array(b), j = 0; j < v.length; j += 4096) v[j] = 1; kept.push(b); }
function onSolutionOpen(arg, queryParams) { while (Date.now() % 1000 > 2); return '{"escaped":false}'; }
