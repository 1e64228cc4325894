// expect: timeout
// why: the host creates UUIDs: requesting them endlessly counts towards the call's time limit
function onSolutionOpen(arg, queryParams) { for (;;) application.getUUID(); }
