// expect: timeout
// why: no CPU time is used, each wait is short and answered, and there is always another one
async function onSolutionOpen(arg, queryParams) { for (;;) await directory.find('slow'); }
