// expect: contained
// lines: 3
// shared: yes
// why: values that are too deep to be serialised are logged as unreadable, without an error
function onSolutionOpen(arg, queryParams) { var a = []; for (var i = 0; i < 1e5; i++) a = { a: a }; console.log(a); application.output(a); var e = new Error('x'); e.message = a; console.log(e); return '{"escaped":false}'; }
