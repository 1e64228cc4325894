// expect: error
function attack() {
  for (let count = 0; count < 1001; count++) eventsManager.addEventListener(EventType.onShow, () => false)
}
