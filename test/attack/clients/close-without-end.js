// expect: contained
function onSolutionClose() {
  for (;;) {}
}
function mainUnloaded() {
  for (;;) {}
}
function attack() {}
