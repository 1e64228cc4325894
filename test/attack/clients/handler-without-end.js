// expect: error
function attack() {
  for (;;) {}
}
