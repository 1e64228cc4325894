// expect: contained
// also: error
// alone: yes
function attack() {
  again()
}
function again() {
  for (let count = 0; count < 100; count++) {
    try {
      application.executeLater(again, 0)
    } catch {
      return
    }
  }
}
