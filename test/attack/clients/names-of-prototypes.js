// expect: contained
// shows: nothing there
function attack() {
  const seen = []
  for (const name of ['__proto__', 'constructor', 'prototype', 'hasOwnProperty', 'toString']) {
    for (const object of [forms, forms.main, forms.main.elements, forms.main.elements.said]) {
      try {
        if (object[name] !== undefined) seen.push(name)
      } catch {
        /* The attempt is rejected, as expected. */
      }
      try {
        object[name] = { label: 'ESCAPED' }
        seen.push(`set ${name}`)
      } catch {
        /* The attempt is rejected, as expected. */
      }
      try {
        Object.defineProperty(object, name, { value: 'ESCAPED' })
        seen.push(`defined ${name}`)
      } catch {
        /* The attempt is rejected, as expected. */
      }
    }
  }
  try {
    Object.setPrototypeOf(forms.main.elements.said, { label: 'ESCAPED' })
    seen.push('prototype set')
  } catch {
    /* The attempt is rejected, as expected. */
  }
  try {
    delete forms.main.elements.said.label
    if (forms.main.elements.said.label === undefined) seen.push('deleted')
  } catch {
    /* The attempt is rejected, as expected. */
  }
  forms.main.elements.said.label = seen.length === 0 ? 'nothing there' : `ESCAPED: ${seen.join()}`
}
