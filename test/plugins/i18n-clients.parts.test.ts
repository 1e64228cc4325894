import { afterAll, expect, test } from 'vitest'
import { createClientLab } from '../support/clients.ts'
import { createScriptLab } from '../support/solutions.ts'

const lab = createClientLab()
const logins = createScriptLab({ texts: { default: { known: 'Known' } } })
afterAll(() => {
  lab.stop()
  logins.stop()
})

const SCRIPT = `function run(code) { return JSON.stringify((0, eval)('(() => {' + code + '})()') ?? null) }
  function fail(code) { (0, eval)(code); throw new Error('no') }`
const get = (...keys: string[]) => `return ${JSON.stringify(keys)}.map((key) => i18n.getI18NMessage(key))`

test('setI18NMessage: a text that is set in a client stays until null removes it, and each change returns all texts that are set', async () => {
  const client = await lab.hosted(SCRIPT)
  const first = await client.effects('run', ["i18n.setI18NMessage('a', 'A'); i18n.setI18NMessage('__proto__', 'P')"])
  const messages = new Map([
    ['a', 'A'],
    ['__proto__', 'P'],
  ])
  expect(first.messages).toEqual(messages)
  const facts = { messages: first.messages, locale: 'nl-BE' }
  expect(
    await client.result(
      'run',
      [
        `${get('a', '__proto__').replace('return', 'return [i18n.getCurrentLanguage(), i18n.getCurrentCountry()].concat(')})`,
      ],
      facts,
    ),
  ).toBe('["nl","BE","A","P"]')
  expect((await client.effects('run', [''], facts)).messagesChanged).toBeUndefined()
  const second = await client.effects('run', ["i18n.setI18NMessage('a', null); i18n.setI18NMessage('b', 'B')"], facts)
  expect(second.messagesChanged).toBe(true)
  expect([...second.messages]).toEqual([
    ['__proto__', 'P'],
    ['b', 'B'],
  ])
  // The texts that the host stores have not changed.
  expect(first.messages).toEqual(messages)
})

test('setI18NMessage: a text that a failed call sets is discarded', async () => {
  const client = await lab.hosted(SCRIPT)
  const { outcome } = await client.call('fail', ["i18n.setI18NMessage('a', 'A')"])
  expect(outcome).toMatchObject({ code: 'script_error', message: 'Error: no' })
  expect(await client.result('run', [get('a')])).toBe('["!a!"]')
})

test('setI18NMessage: a client stores up to 200 texts and 64 KB across calls; beyond that, the call fails', async () => {
  const client = await lab.hosted(SCRIPT)
  const many = new Map(Array.from({ length: 199 }, (_, index) => [`k${index}`, 'x']))
  const code = `const errors = []; for (const key of ['new', 'k7', 'newer', 'k8']) try { i18n.setI18NMessage(key, 'y') } catch (error) { errors.push(key + ' ' + error) }; return errors`
  const { outcome, effects } = await client.call('run', [code], { messages: many })
  expect(JSON.parse((outcome as { result: string }).result)).toEqual([
    'newer RangeError: i18n.setI18NMessage: a client can have at most 200 texts with 65536 characters in total, including keys; this change would result in 201 texts with 895 characters',
  ])
  expect([effects.messages.size, effects.messages.get('new'), effects.messages.get('k8')]).toEqual([200, 'y', 'y'])
  const large = new Map(['a', 'b', 'c'].map((key) => [key, 'x'.repeat(20_000)]))
  const full = await client.call(
    'run',
    [`i18n.setI18NMessage('d', 'x'.repeat(5532)); i18n.setI18NMessage('d', 'x'.repeat(5533))`],
    { messages: large },
  )
  expect(full.outcome).toMatchObject({
    message: expect.stringMatching(
      /a client can have at most 200 texts with 65536 characters in total, including keys; this change would result in 4 texts with 65537 characters$/,
    ),
  })
})

test('setI18NMessage: the host enforces the same limit, whatever a guest sends', async () => {
  const client = await lab.hosted(`${SCRIPT}; i18n.forge = 1`)
  const messages = new Map(Array.from({ length: 200 }, (_, index) => [`k${index}`, 'x']))
  // This call doesn't pass the stored texts to the guest, so only the host can enforce the limit.
  const { outcome } = await client.call('run', ["i18n.setI18NMessage('new', 'y'); i18n.setI18NMessage('k0', 'y')"])
  const { effects } = lab.applied(outcome, { messages })
  expect([effects.messages.size, effects.messages.has('new'), effects.messages.get('k0')]).toEqual([200, false, 'y'])
})

test('setI18NMessage: the per-client text limit does not apply during a login, and the state stays a plain string', async () => {
  const script = "function onSolutionOpen() { for (let n = 0; n < 300; n++) i18n.setI18NMessage('k' + n, 'x') }"
  expect((await logins.run({ script })).effects.messages.size).toBe(300)
})

test('getI18NMessage: each context reports a missing key once, at most 20 per call', async () => {
  const client = await lab.hosted(SCRIPT)
  expect((await client.effects('run', [get('a', 'b', 'a', 'platform.logindialog.submit')])).missingKeys).toEqual([
    'a',
    'b',
  ])
  expect((await client.effects('run', [get('a', 'c')])).missingKeys).toEqual(['c'])
  const all = Array.from({ length: 30 }, (_, index) => `k${index}`)
  expect((await client.effects('run', [get(...all)])).missingKeys).toEqual(all.slice(0, 20))
  expect((await client.effects('run', [get(...all)])).missingKeys).toEqual(all.slice(20))
  expect((await client.effects('run', [get(...all)])).missingKeys).toBeUndefined()
})

test('getI18NMessage: a key that was missing in a failed call is reported by the next one', async () => {
  const client = await lab.hosted(`${SCRIPT}; i18n.getI18NMessage('while.loading')`)
  await client.call('fail', ["i18n.getI18NMessage('a')"])
  expect((await client.effects('run', [get('a', 'while.loading')])).missingKeys).toEqual(['a', 'while.loading'])
})

test('getI18NMessage: a missing key in a login is reported, whether or not the login succeeds, and never makes it fail', async () => {
  const script = (more: string) =>
    `function onSolutionOpen() { i18n.getI18NMessage('known'); i18n.getI18NMessage('gone'); ${more} }`
  expect((await logins.run({ script: script('') })).effects.missingKeys).toEqual(['gone'])
  expect((await logins.run({ script: script("security.login('a', 'a', ['Users'])") })).effects.missingKeys).toEqual([
    'gone',
  ])
  const full = await logins.run({
    script: `function onSolutionOpen() { let set = 0; try { for (;;) { i18n.setI18NMessage('a', 'A'); set++ } } catch {} return JSON.stringify({ set, text: i18n.getI18NMessage('gone') }) }`,
  })
  expect(full.values).toEqual({ set: 2000, text: '!gone!' })
})

test('getI18NMessage: in getOAuthConfig, a missing key does not count as a command without effect', async () => {
  const script = "function getOAuthConfig() { return { clientId: i18n.getI18NMessage('gone') } }"
  const { values, log } = await logins.run({ script, entry: 'getOAuthConfig' })
  expect(values).toEqual({ clientId: '!gone!' })
  expect(log).toEqual([])
})
