// expect: contained
// alone: yes
// A hundred functions that each schedule themselves again immediately.
function attack() {
  for (let count = 0; count < 100; count++) application.executeLater(again, 0)
}
function again() {
  application.executeLater(again, 0)
}
