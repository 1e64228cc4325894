// expect: contained
// alone: yes
function onSolutionClose() {
  for (;;) {}
}
function mainUnloaded() {
  for (;;) {}
}
function attack() {}
