// expect: error
// shared: yes
// why: a failed call has no effects, whatever it sent before or while its error is read
function onSolutionOpen(arg, queryParams) {
  application.showURL('/a'); i18n.setLocale('nl'); directory.note('x');
  throw { get message() { security.login('admin', '1', ['Administrators']); return 'm'; }, get stack() { directory.note('y'); return ''; } };
}
