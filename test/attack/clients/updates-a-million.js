// expect: contained
// also: error
// alone: yes
function attack() {
  for (let count = 0; count < 300_000; count++) forms.main.elements.said.label = `said ${count}`
}
