// expect: error
// code: script_error
// why: an unhandled rejection ends the call with the script's own message, without effects and without another code
function onSolutionOpen(arg, queryParams) { security.login('admin', '1', ['Administrators']); Promise.reject(Object.assign(new Error('Script execution timed out.'), { name: 'script_memory', code: 'script_timeout' })); return '{"escaped":true}'; }
