// expect: contained
// why: microtasks that run after the result is returned have no effect
function onSolutionOpen(arg, queryParams) {
  Promise.resolve().then(function () { security.login('late', '1', ['Administrators']); }).catch(function () {}).then(function () { try { application.showURL('/late'); } catch (e) {} try { directory.note('late'); } catch (e) {} });
  return '{"escaped":false}';
}
