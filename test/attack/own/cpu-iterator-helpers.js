// expect: timeout
// why: an endless iterator is dropped, mapped and counted without a loop in the script
function onSolutionOpen(arg, queryParams) { function* all() { for (;;) yield 1; } return String(all().map(Boolean).drop(Number.MAX_SAFE_INTEGER).some(Boolean)); }
