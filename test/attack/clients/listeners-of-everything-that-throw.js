// expect: contained
// also: error
function attack() {
  for (const type of [EventType.onAction, EventType.onShow, EventType.onElementDataChange]) {
    eventsManager.addEventListener(type, () => {
      throw new Error('x'.repeat(100_000))
    })
  }
}
