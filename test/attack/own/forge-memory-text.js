// expect: error
// code: script_error
// why: the message of a disposed isolate must not end the process or count as memory
function onSolutionOpen(arg, queryParams) { throw new RangeError('Isolate was disposed during execution due to memory limit'); }
