// expect: timeout
// why: no time is used, each wait is short and answered, and there is always one more
async function onSolutionOpen(arg, queryParams) { for (;;) await directory.find('slow'); }
