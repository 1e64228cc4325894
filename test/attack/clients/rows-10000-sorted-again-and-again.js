// expect: contained
// alone: yes
// Ten calls that each sort 10,000 rows by a column that is slow to compare.
const digit = () => `${'1'.repeat(180)}${String(Math.floor(Math.random() * 1e9))}`
let left = 10
function attack() {
  forms.main.elements.list.rows = Array.from({ length: 10_000 }, (_, id) => ({ id, text: digit() }))
  forms.main.elements.list.sort = { column: 'text', direction: left % 2 ? 'ascending' : 'descending' }
  if (--left > 0) application.executeLater(attack, 0)
}
