// expect: error
// code: script_error
// shared: yes
// why: a late rejection with the exact message and fields of a timeout is treated as an ordinary error
async function onSolutionOpen(arg, queryParams) {
  var end = Date.now() + 600; while (Date.now() < end);
  throw { name: 'script_timeout', message: 'Script execution timed out. the call took longer than 1500 ms', code: 'script_timeout', stack: 'Error: Script execution timed out.', limit: { name: 'AUTHENTICATOR_TIME', allowed: 1500, used: 1600 }, milliseconds: 1600 };
}
