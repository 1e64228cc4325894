// expect: memory
// also: error
// why: a resizable buffer's pages are reserved and grown without the monitored allocator
function onSolutionOpen(arg, queryParams) { var kept = []; for (;;) { var b = new ArrayBuffer(1, { maxByteLength: 1 << 30 }); for (var size = 1 << 22; size <= 1 << 28; size *= 2) { b.resize(size); new Uint8Array(b).fill(7); } kept.push(b); } }
