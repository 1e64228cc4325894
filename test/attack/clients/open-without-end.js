// expect: closed
// alone: yes
function onSolutionOpen() {
  for (;;) {}
}
