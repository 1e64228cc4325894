// expect: error
// also: contained
// why: parsing and writing JSON with a million levels
function onSolutionOpen(arg, queryParams) { var a = []; for (var i = 0; i < 1e5; i++) a = [a]; try { console.log(JSON.stringify(a).length); } catch (e) {} console.log(JSON.parse('['.repeat(1e6) + ']'.repeat(1e6)).length); return '{"escaped":false}'; }
