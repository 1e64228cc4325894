// expect: memory
// also: timeout
// also2: error
// why: formatters are native objects outside the heap
function onSolutionOpen(arg, queryParams) { var kept = [], l = ['ar', 'th', 'zh', 'hi']; for (;;) kept.push(new Intl.DateTimeFormat(l[kept.length % 4], { dateStyle: 'full', timeStyle: 'full', calendar: 'chinese' }), new Intl.Collator('zh-u-co-stroke'), new Intl.Segmenter('th', { granularity: 'word' }).segment('x'.repeat(1e4))); }
