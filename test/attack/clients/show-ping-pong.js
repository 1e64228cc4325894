// expect: error
// alone: yes
function attack() {
  application.showForm('second')
}
function mainShown() {
  if (globalThis.isAttacked) application.showForm('second')
}
function secondShown() {
  globalThis.isAttacked = true
  application.showForm('main')
}
