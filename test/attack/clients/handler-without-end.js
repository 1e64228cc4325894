// expect: error
// alone: yes
function attack() {
  for (;;) {}
}
