// expect: error
// Nothing of a call that failed is run later.
function attack() {
  for (let count = 0; count < 1000; count++) {
    application.executeLater(() => {
      forms.main.elements.said.label = 'ESCAPED'
    }, 0)
  }
}
