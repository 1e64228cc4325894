// expect: contained
// shared: yes
// why: there is no clock finer than a microsecond (Temporal.Now), and no thread or atomics to build one with
function onSolutionOpen(arg, queryParams) {
  var clocks = [typeof performance, typeof Atomics, typeof SharedArrayBuffer, typeof Worker, typeof WebAssembly, typeof queueMicrotask, typeof setTimeout, typeof MessageChannel].filter(function (t) { return t !== 'undefined'; });
  if (Date.now() % 1 !== 0 || new Date(1.5).getTime() !== 1) clocks.push('date');
  if (typeof Temporal === 'object' && finest() < 500n) clocks.push('temporal');
  return JSON.stringify({ escaped: clocks.length > 0, clocks: clocks });
}

// The smallest step of the clock, in nanoseconds.
function finest() {
  var smallest = 1000000000n, last = Temporal.Now.instant().epochNanoseconds;
  for (var n = 0; n < 20000; n++) {
    var now = Temporal.Now.instant().epochNanoseconds;
    if (now > last && now - last < smallest) smallest = now - last;
    last = now;
  }
  return smallest;
}
