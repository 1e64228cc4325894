import { afterAll, expect, test } from 'vitest'
import { createScriptLab } from '../support/solutions.ts'

const lab = createScriptLab({
  texts: {
    default: { greeting: 'Hello, {0} and {1}!', only: 'default only', __proto__x: 'x' },
    nl: { greeting: 'Hallo, {0} en {1}!' },
    'nl-BE': { greeting: 'Dag, {0} en {1}!' },
  },
})
afterAll(() => lab.stop())

test('i18n: a text is taken from the locale, then its language, then the default', async () => {
  const body = "return [i18n.getI18NMessage('greeting', ['A', 2]), i18n.getI18NMessage('only')]"
  expect(await lab.evaluate(body, { locale: 'nl-BE' })).toEqual(['Dag, A en 2!', 'default only'])
  expect(await lab.evaluate(body, { locale: 'nl-NL' })).toEqual(['Hallo, A en 2!', 'default only'])
  expect(await lab.evaluate(body, { locale: 'fr' })).toEqual(['Hello, A and 2!', 'default only'])
})

test('i18n: language and country can be passed, and an unknown key is returned between exclamation marks', async () => {
  const body = "return [i18n.getI18NMessage('greeting', null, 'nl', 'BE'), i18n.getI18NMessage('nothing.here')]"
  expect(await lab.evaluate(body)).toEqual(['Dag, {0} en {1}!', '!nothing.here!'])
})

test('i18n: values that are not an array cause a TypeError, because the text would keep its placeholders', async () => {
  const { failure } = await lab.run({
    script: "function onSolutionOpen() { i18n.getI18NMessage('greeting', 'Ada') }",
    evaluated: true,
  })
  expect(failure?.message).toBe('TypeError: i18n.getI18NMessage: values must be an array, such as [name], or null')
})

test('i18n: the platform’s texts are used where the solution has none', async () => {
  expect(await lab.evaluate("return i18n.getI18NMessage('platform.logindialog.submit')", { locale: 'nl' })).toBe(
    'Inloggen',
  )
})

test('i18n: setLocale changes the current language and is an effect of the call', async () => {
  const script = `function onSolutionOpen() {
    const before = [i18n.getCurrentLanguage(), i18n.getCurrentCountry()]
    i18n.setLocale('NL', 'be')
    return JSON.stringify({ before, after: [i18n.getCurrentLanguage(), i18n.getCurrentCountry()] })
  }`
  const { values, effects } = await lab.run({ script, locale: 'en' })
  expect(values).toEqual({ before: ['en', ''], after: ['nl', 'BE'] })
  expect(effects.locale).toBe('nl-BE')
})

test.each(["'__proto__'", "'n'", '5', 'null', "'nl', 'Belgium'"])(
  'i18n.setLocale: %s causes a TypeError',
  async (args) => {
    const { failure } = await lab.run({
      script: `function onSolutionOpen() { i18n.setLocale(${args}) }`,
      evaluated: true,
    })
    expect(failure?.message).toMatch(/^TypeError: i18n\.setLocale/)
  },
)

test('i18n: setI18NMessage overrides a key for the response, and null removes the override', async () => {
  const script = `function onSolutionOpen() {
    i18n.setI18NMessage('only', 'mine')
    i18n.setI18NMessage('__proto__', 'safe')
    i18n.setI18NMessage('gone', 'x')
    i18n.setI18NMessage('gone', null)
    return JSON.stringify({ texts: [i18n.getI18NMessage('only'), i18n.getI18NMessage('__proto__'), i18n.getI18NMessage('gone')] })
  }`
  const { values, effects } = await lab.run({ script })
  expect(values.texts).toEqual(['mine', 'safe', '!gone!'])
  expect([...effects.messages]).toEqual([
    ['only', 'mine'],
    ['__proto__', 'safe'],
  ])
})
