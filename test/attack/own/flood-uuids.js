// expect: timeout
// why: identifiers are created outside: requesting them endlessly counts as time of the call
function onSolutionOpen(arg, queryParams) { for (;;) application.getUUID(); }
