// expect: error
function attack() {
  forms.main.elements.list.rows = Array.from({ length: 10_001 }, (_, id) => ({ id, text: 'ESCAPED' }))
}
