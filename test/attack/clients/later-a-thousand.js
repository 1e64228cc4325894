// expect: error
// Nothing that a failed call scheduled runs later.
function attack() {
  for (let count = 0; count < 1000; count++) {
    application.executeLater(() => {
      forms.main.elements.said.label = 'ESCAPED'
    }, 0)
  }
}
