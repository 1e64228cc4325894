// expect: contained
// lines: 0
// why: a request that is answered after the call ended must not resume its script
function onSolutionOpen(arg, queryParams) {
  directory.find('slow').then(function () { security.login('late', '1', ['Administrators']); directory.note('late'); console.log('late'); });
  return '{"escaped":false}';
}
