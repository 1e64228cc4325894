// expect: contained
// alone: yes
// 10,000 rows, sorted by a column that is slow to compare, again in each of ten calls.
const digit = () => `${'1'.repeat(180)}${String(Math.floor(Math.random() * 1e9))}`
let left = 10
function attack() {
  forms.main.elements.list.rows = Array.from({ length: 10_000 }, (_, id) => ({ id, text: digit() }))
  forms.main.elements.list.sort = { column: 'text', direction: left % 2 ? 'ascending' : 'descending' }
  if (--left > 0) application.executeLater(attack, 0)
}
