// expect: reopened
// also: error
// presses: 40
// alone: yes
// Each press leaves 3 MB more in the tables, until the isolate has no more.
let at = 0
function attack() {
  const text = () => String(Math.random()).repeat(15)
  const name = ['list', 'list2', 'list3'][at % 3]
  globalThis[`kept${at++}`] = Array.from({ length: 10_000 }, (_, id) => ({ id, text: text() }))
  forms.main.elements[name].rows = globalThis[`kept${at - 1}`]
}
