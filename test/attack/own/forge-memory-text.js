// expect: error
// code: script_error
// why: an error with the message of a disposed isolate must not end the process or be reported as out of memory
function onSolutionOpen(arg, queryParams) { throw new RangeError('Isolate was disposed during execution due to memory limit'); }
