// expect: error
// Functions that a failed call scheduled never run.
function attack() {
  for (let count = 0; count < 1000; count++) {
    application.executeLater(() => {
      forms.main.elements.said.label = 'ESCAPED'
    }, 0)
  }
}
