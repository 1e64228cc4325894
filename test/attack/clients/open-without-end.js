// expect: closed
function onSolutionOpen() {
  for (;;) {}
}
