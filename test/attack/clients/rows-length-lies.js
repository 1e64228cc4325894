// expect: error
// A list whose length and items change while it is read.
function attack() {
  let asked = 0
  const liar = new Proxy([], {
    get(target, key) {
      if (key === 'length') return asked++ === 0 ? 1 : 2 ** 31
      return { id: key, text: 'x', extra: 'ESCAPED' }
    },
  })
  forms.main.elements.list.rows = liar
}
