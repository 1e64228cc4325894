// expect: reopened
// also: error
// presses: 40
// alone: yes
// Each press adds 3 MB to the tables, until the isolate runs out of memory.
let at = 0
function attack() {
  const text = () => String(Math.random()).repeat(15)
  const name = ['list', 'list2', 'list3'][at % 3]
  globalThis[`kept${at++}`] = Array.from({ length: 10_000 }, (_, id) => ({ id, text: text() }))
  forms.main.elements[name].rows = globalThis[`kept${at - 1}`]
}
