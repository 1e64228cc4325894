// expect: error
// why: a forged stack may only refer to the solution's files, never to the platform's
function onSolutionOpen(arg, queryParams) {
  var e = new Error('x'); e.stack = 'Error: x\n    at f (solhost:guest:1:1)\n    at g (/etc/passwd:1:1)\n    at h (modules/other/secret.js:7:7)\n    at i (' + 'a'.repeat(5000) + ':9:9)\n    at (modules/auth/globals.js:999999999:999999999)'; throw e;
}
