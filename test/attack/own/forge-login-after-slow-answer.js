// expect: contained
// lines: 1
// why: a response that arrives after the call has ended must not resume the script. The one line is the host's, about the missing await
function onSolutionOpen(arg, queryParams) {
  directory.find('slow').then(function () { security.login('late', '1', ['Administrators']); directory.note('late'); console.log('late'); });
  return '{"escaped":false}';
}
