// expect: timeout
// why: identifiers are made by the process outside: asking for them without end is time of the call
function onSolutionOpen(arg, queryParams) { for (;;) application.getUUID(); }
