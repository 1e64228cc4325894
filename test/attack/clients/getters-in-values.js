// expect: contained
// shows: read once
// A getter is read only once, so the value that is checked is also the value that is sent.
function attack() {
  let reads = 0
  const row = {
    get id() {
      return ++reads > 1 ? { evil: 'ESCAPED' } : 1
    },
    get text() {
      return 'cell'
    },
  }
  forms.main.elements.list.rows = [row]
  let labels = 0
  const option = {
    value: 'one',
    get label() {
      return ++labels > 1 ? { toString: () => 'ESCAPED' } : 'One'
    },
  }
  forms.main.elements.choice.options = [option]
  forms.main.elements.said.label = reads === 1 && labels === 1 ? 'read once' : `ESCAPED: ${reads} ${labels}`
}
