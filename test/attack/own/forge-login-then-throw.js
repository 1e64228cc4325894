// expect: error
// shared: yes
// why: a call that fails has no effects, whatever it asked for before and while its error is read
function onSolutionOpen(arg, queryParams) {
  application.showURL('/a'); i18n.setLocale('nl'); directory.note('x');
  throw { get message() { security.login('admin', '1', ['Administrators']); return 'm'; }, get stack() { directory.note('y'); return ''; } };
}
