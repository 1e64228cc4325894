// expect: contained
function attack() {
  for (let count = 0; count < 1000; count++) application.showURL(`/solution/${count}`, 'window')
}
