// expect: error
// shared: yes
// why: a regular expression with a hundred thousand nested groups
function onSolutionOpen(arg, queryParams) { return String(new RegExp('('.repeat(1e5) + 'a' + ')'.repeat(1e5)).test('a')); }
