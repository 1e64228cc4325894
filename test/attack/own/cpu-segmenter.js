// expect: timeout
// also: error
// also2: memory
// why: one grapheme that consists of ten million joiners
function onSolutionOpen(arg, queryParams) { var s = new Intl.Segmenter('th', { granularity: 'word' }), t = '\u0e01\u0e32'.repeat(5e6); for (;;) for (var part of s.segment(t)); }
