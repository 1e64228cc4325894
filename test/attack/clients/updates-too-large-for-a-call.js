// expect: error
// alone: yes
// Three tables of 4 MB each: if the changes are too large, they are reset to the state that the host has.
function attack() {
  for (const name of ['list', 'list2', 'list3']) {
    forms.main.elements[name].rows = Array.from({ length: 10_000 }, (_, id) => ({ id, text: 'y'.repeat(400) }))
  }
}
