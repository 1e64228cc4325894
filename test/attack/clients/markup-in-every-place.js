// expect: contained
// shows: &lt;script&gt;
// presses: 2
const EVIL =
  "\"><script>alert(1)</script><img src=x onerror=alert(1)><svg/onload=alert(1)>' onfocus=alert(1) autofocus='"
let round = 0
function attack() {
  const e = forms.main.elements
  const text = round++ % 2 ? EVIL : `</textarea></option></template></title>${EVIL}<!--`
  forms.main.title = text
  for (const name of ['said', 'name', 'pin', 'note', 'choice', 'way', 'list', 'away', 'picture', 'box', 'ok']) {
    e[name].label = text
    e[name].hint = text
  }
  for (const name of ['name', 'pin', 'note', 'choice', 'way']) e[name].error = text
  for (const name of ['name', 'pin', 'note', 'choice']) e[name].placeholder = text
  e.name.value = text
  e.note.value = text
  e.choice.options = [{ value: EVIL, label: text }]
  e.choice.value = EVIL
  e.way.options = [{ value: EVIL, label: text }]
  e.list.rows = [{ id: EVIL.slice(0, 200), text }]
  e.picture.alt = text
  i18n.setI18NMessage('platform.client.failed', text)
  i18n.setI18NMessage('platform.form.choose', text)
  e.said.label = 'i18n:' + text
}
