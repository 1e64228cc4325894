// expect: timeout
// why: no CPU time is used: each request is short and gets a response, but there is always another one
async function onSolutionOpen(arg, queryParams) { for (;;) await directory.find('slow'); }
