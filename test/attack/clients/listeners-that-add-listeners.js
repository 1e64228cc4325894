// expect: contained
// also: error
// presses: 3
function add() {
  for (let count = 0; count < 30; count++) eventsManager.addEventListener(EventType.onAction, add)
  return true
}
function attack() {
  add()
}
