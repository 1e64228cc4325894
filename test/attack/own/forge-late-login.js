// expect: contained
// why: what runs in microtasks after the answer was given changes nothing any more
function onSolutionOpen(arg, queryParams) {
  Promise.resolve().then(function () { security.login('late', '1', ['Administrators']); }).catch(function () {}).then(function () { try { application.showURL('/late'); } catch (e) {} try { directory.note('late'); } catch (e) {} });
  return '{"escaped":false}';
}
