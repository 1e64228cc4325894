// expect: contained
// also: error
// settles: no
// alone: yes
function attack() {
  globalThis.isAttacked = true
  application.showForm('second')
}
function mainShown() {
  if (globalThis.isAttacked) application.executeLater(() => application.showForm('second'), 0)
}
function secondShown() {
  application.executeLater(() => application.showForm('main'), 0)
}
