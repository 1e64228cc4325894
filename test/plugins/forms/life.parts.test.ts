import { afterEach, expect, test } from 'vitest'
import { createFormLab, type FormLab } from '../../support/form-lab.ts'
import { formWith } from '../../support/forms.ts'
import { createScriptLab } from '../../support/solutions.ts'

let lab: FormLab
afterEach(() => lab.stop())

const button = { type: 'button', name: 'go', label: 'Go', onAction: 'go' }

test('form scripts: top-level functions are not global but belong to their form, and keep their state', async () => {
  lab = createFormLab()
  const client = await lab.open(
    `function onSolutionOpen() { application.showForm('a') }
     function both() { return forms.a.save() + forms.b.save() + forms.a.save() + typeof save + typeof count }`,
    {
      a: { form: formWith(), script: "let count = 0; function save() { return 'a' + ++count }" },
      b: { form: formWith(), script: "const save = () => 'b'" },
    },
  )
  expect(await client.result('both')).toBe('a1ba2undefinedundefined')
  expect(await client.result('both')).toBe('a3ba4undefinedundefined')
  const other = await client.again()
  expect(await other.result('both')).toBe('a1ba2undefinedundefined')
})

test('form scripts: an error while loading is reported with its file, line and column, even on the first line', async () => {
  lab = createFormLab()
  const failed = (script: string) => lab.tryOpen('', { a: { form: formWith(), script } })
  expect(await failed("function f() {}; throw new TypeError('no')")).toMatchObject({
    code: 'script_error',
    message: 'TypeError: no',
    position: { file: 'forms/a.js', line: 1, column: 24 },
  })
  expect(await failed('let x = 1\n  missing()\n')).toMatchObject({
    message: 'ReferenceError: missing is not defined',
    position: { file: 'forms/a.js', line: 2, column: 3 },
  })
  expect(await failed('while (true) {}')).toMatchObject({ code: 'script_timeout', limit: { name: 'LOAD_TIME' } })
  expect(await failed('let a = ;')).toMatchObject({ position: { file: 'forms/a.js', line: 1, column: 9 } })
})

test('form scripts: an error in a handler has the position in its file, even on the first line', async () => {
  lab = createFormLab()
  const client = await lab.open("function onSolutionOpen() { application.showForm('a') }", {
    a: { form: formWith(button), script: "function go(event) { throw new Error('x') }" },
  })
  await client.run('onSolutionOpen')
  expect(await client.fire('a', 'go', 'onAction')).toMatchObject({
    code: 'script_error',
    message: 'Error: x',
    position: { file: 'forms/a.js', line: 1, column: 28 },
  })
})

test('form lifecycle: hide, load (once) and show run in order, each function before its listeners', async () => {
  lab = createFormLab()
  const script = (name: string) =>
    ['onLoad', 'onShow', 'onBeforeHide', 'onHide', 'onUnload']
      .map((type) => `function ${type}(...args) { said('${name}.${type}', args) }`)
      .join('\n')
  const client = await lab.open(
    `const lines = []
     function said(what, args) { const event = args.at(-1)
       lines.push(what + (args.length > 1 ? args[0] : '') + ' ' + event.type + ' ' + event.source + ' ' + event.formName + ' ' + event.elementName) }
     for (const type of ['onLoad', 'onShow', 'onBeforeHide', 'onHide', 'onUnload']) {
       eventsManager.addEventListener(type, (event, ...args) => { lines.push('listener ' + type + args.join()); return true }, forms.a) }
     function go(form) { application.showForm(form) }
     function take() { return JSON.stringify(lines.splice(0)) }`,
    { a: { form: formWith(), script: script('a') }, b: { form: formWith(), script: script('b') } },
  )
  const steps = async (form: string) => {
    const { shown } = await client.changes(client.run('go', form))
    return [shown, JSON.parse((await client.result('take')) as string)]
  }
  const event = (form: string, type: string) => `${type} forms.${form} ${form} null`
  expect(await steps('a')).toEqual([
    'a',
    [
      `a.onLoad ${event('a', 'onLoad')}`,
      'listener onLoad',
      `a.onShowtrue ${event('a', 'onShow')}`,
      'listener onShowtrue',
    ],
  ])
  expect(await steps('b')).toEqual([
    'b',
    [
      `a.onBeforeHide ${event('a', 'onBeforeHide')}`,
      'listener onBeforeHide',
      `a.onHide ${event('a', 'onHide')}`,
      'listener onHide',
      `b.onLoad ${event('b', 'onLoad')}`,
      `b.onShowtrue ${event('b', 'onShow')}`,
    ],
  ])
  const [, back] = await steps('a')
  expect(back.slice(2)).toEqual([`a.onShowfalse ${event('a', 'onShow')}`, 'listener onShowfalse'])
  await client.run('forms.close')
  expect(JSON.parse((await client.result('take')) as string)).toEqual([
    `a.onUnload ${event('a', 'onUnload')}`,
    'listener onUnload',
    `b.onUnload ${event('b', 'onUnload')}`,
  ])
})

test('form lifecycle: a form’s function or a listener can prevent hiding by returning false, even asynchronously', async () => {
  lab = createFormLab()
  const client = await lab.open(
    `let mayGo = true
     eventsManager.addEventListener(EventType.onBeforeHide, () => mayGo, forms.a)
     function setOwn(value) { forms.a.setOwn(value === 'true') }
     function setListener(value) { mayGo = value === 'true' }
     function go(form) { application.showForm(form) }`,
    {
      a: {
        form: formWith(),
        script:
          "let own = true; function setOwn(value) { own = value }\nasync function onBeforeHide() { await probe.ask('x'); return own }",
      },
      b: { form: formWith(), script: '' },
    },
  )
  await client.run('go', 'a')
  const toB = async () => {
    const run = client.changes(client.run('go', 'b'))
    const asked = await lab.asked(++questions)
    asked.at(-1)?.answer(null)
    return (await run).shown
  }
  let questions = 0
  await client.run('setListener', 'false')
  expect(await toB()).toBeNull()
  await client.run('setListener', 'true')
  await client.run('setOwn', 'false')
  expect(await toB()).toBeNull()
  await client.run('setOwn', 'true')
  expect(await toB()).toBe('b')
})

test('forms: the global does not exist in logins and plain pages', async () => {
  lab = createFormLab()
  const logins = createScriptLab({ forms: ['orders'] })
  try {
    expect(await logins.evaluate('return typeof forms')).toBe('undefined')
  } finally {
    logins.stop()
  }
})

test('form lifecycle: forms that show each other endlessly are stopped', async () => {
  lab = createFormLab()
  const onShow = (other: string) => `function onShow() { application.showForm('${other}') }`
  const client = await lab.open("function go() { application.showForm('a') }", {
    a: { form: formWith(), script: onShow('b') },
    b: { form: formWith(), script: onShow('a') },
  })
  expect(await client.run('go')).toMatchObject({
    code: 'script_error',
    message: expect.stringContaining('more than 10 forms'),
  })
})
