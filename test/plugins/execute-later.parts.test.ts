import { afterAll, expect, test } from 'vitest'
import { createClientLab } from '../support/clients.ts'
import { createScriptLab } from '../support/solutions.ts'

const lab = createClientLab({ limits: { CALL_TIME: 700 } })
const logins = createScriptLab()
afterAll(() => {
  lab.stop()
  logins.stop()
})

/** A solution's script. Its function `run` evaluates code and returns the result as JSON. */
const SCRIPT = `let said = []
  function say(...what) { said.push(what.join(' ')) }
  function take() { return JSON.stringify(said.splice(0)) }
  function run(code) { return JSON.stringify((0, eval)('(() => {' + code + '})()') ?? null) }
  function fail(code) { (0, eval)(code); throw new Error('no') }
  function hang(code) { (0, eval)(code); for (;;) {} }
  function tooLong(code) { (0, eval)(code); return 'x'.repeat(100000) }`

async function open() {
  const client = await lab.hosted(SCRIPT)
  return {
    ...client,
    /**
     * Runs the scheduled function with this id.
     * @returns the texts that the function passed to `say`
     */
    said: async (id: number) => {
      await client.call('application.runLater', [id])
      return JSON.parse((await client.result('take')) as string)
    },
  }
}

test('executeLater: the host receives id and time, and the function runs once with its arguments', async () => {
  const client = await open()
  const { later } = await client.effects('run', [
    "application.executeLater(say, 0, ['a', 1]); application.executeLater(say, 3600000)",
  ])
  expect(later).toEqual([
    { id: 1, milliseconds: 0 },
    { id: 2, milliseconds: 3_600_000 },
  ])
  expect(await client.said(1)).toEqual(['a 1'])
  expect(await client.said(1)).toEqual([])
  expect(await client.said(2)).toEqual([''])
  expect(await client.said(99)).toEqual([])
})

test('executeLater: the arguments are copied, so later changes to the array have no effect', async () => {
  const client = await open()
  await client.effects('run', [
    "const args = ['a']; application.executeLater(say, 5, args); args[0] = 'b'; args.push('c')",
  ])
  expect(await client.said(1)).toEqual(['a'])
})

test('executeLater: an error in the function fails the call, and an async function is awaited', async () => {
  const client = await open()
  await client.effects('run', [
    `application.executeLater(() => { application.showURL('/lost'); throw new TypeError('later') }, 1)
     application.executeLater(async () => { await null; application.showURL('/kept'); return { a: 'thing' } }, 1)`,
  ])
  const { outcome, effects } = await client.call('application.runLater', [1])
  expect(outcome).toMatchObject({ code: 'script_error', message: 'TypeError: later' })
  expect(effects.showUrl).toBeNull()
  expect((await client.call('application.runLater', [1])).outcome).toMatchObject({ code: 'returned' })
  const kept = await client.call('application.runLater', [2])
  expect(kept.outcome).not.toHaveProperty('oddResult')
  expect(kept.effects.showUrl).toBe('/kept')
})

test('executeLater: a scheduled function can schedule itself again', async () => {
  const client = await open()
  await client.effects('run', ['globalThis.tick = () => { say("tick"); application.executeLater(tick, 10) }; tick()'])
  expect((await client.effects('application.runLater', [1])).later).toEqual([{ id: 2, milliseconds: 10 }])
  expect(await client.said(2)).toEqual(['tick', 'tick', 'tick'])
})

test('cancelLater: it returns true if the function is still waiting, and then the function is not called', async () => {
  const client = await open()
  await client.effects('run', ['application.executeLater(say, 1)'])
  const code =
    'return [application.cancelLater(1), application.cancelLater(1), application.cancelLater(2), application.cancelLater("1")]'
  const { outcome, effects } = await client.call('run', [code])
  expect(outcome).toMatchObject({ result: '[true,false,false,false]' })
  expect(effects.cancelLater).toEqual([1])
  expect(await client.said(1)).toEqual([])
})

test.each(['fail', 'hang', 'tooLong'])(
  'executeLater: a call to %s that fails schedules, cancels and leaks nothing',
  async (entry) => {
    const client = await open()
    await client.effects('run', ["application.executeLater(say, 1, ['first'])"])
    const code =
      "application.cancelLater(1); while (true) try { application.executeLater(say, 1, ['lost']) } catch { break }"
    const { outcome } = await client.call(entry, [code])
    expect(outcome.code).toMatch(/^script_(error|timeout|quota)$/)
    expect(await client.said(2)).toEqual([])
    expect(await client.said(1)).toEqual(['first'])
    const full =
      'let n = 0; try { for (;;) { application.executeLater(say, 1); n++ } } catch (error) { return [n, String(error)] }'
    expect(JSON.parse((await client.result('run', [full])) as string)).toEqual([
      100,
      'RangeError: application.executeLater: 100 functions are already scheduled, which is the maximum',
    ])
  },
)

test('executeLater: a call that fails before it starts does not affect earlier scheduled functions', async () => {
  const client = await open()
  await client.effects('run', ["application.executeLater(say, 1, ['kept'])"])
  expect((await client.call('nothing here')).outcome).toMatchObject({ code: 'script_error' })
  expect(await client.said(1)).toEqual(['kept'])
})

test.each([
  ["executeLater('say', 1)", 'callback must be a function'],
  ['executeLater(say)', 'milliseconds must be a whole number from 0 to 3600000'],
  ['executeLater(say, -1)', 'milliseconds must be a whole number'],
  ['executeLater(say, 1.5)', 'milliseconds must be a whole number'],
  ['executeLater(say, NaN)', 'milliseconds must be a whole number'],
  ['executeLater(say, 3600001)', 'milliseconds must be a whole number'],
  ["executeLater(say, '5')", 'milliseconds must be a whole number'],
  ['executeLater(say, 1, { length: 1 })', 'args must be an array'],
])('application.%s causes a TypeError', async (code, text) => {
  const client = await open()
  const { outcome, effects } = await client.call('run', [`application.${code}`])
  expect(outcome).toMatchObject({ message: expect.stringMatching(/^TypeError: application\.executeLater: /) })
  expect(outcome).toMatchObject({ message: expect.stringContaining(text) })
  expect(effects.later).toBeUndefined()
})

test.each(['executeLater(() => {}, 1)', 'cancelLater(1)'])(
  'application.%s in a login causes a TypeError with the reason',
  async (code) => {
    const { failure } = await logins.run({ script: `function onSolutionOpen() { application.${code} }` })
    expect(failure?.message).toMatch(
      /^TypeError: application\.\w+ can be called only in an open client, not during a sign-in$/,
    )
  },
)

test('executeLater: while scripts are loading, it throws an error with its name; each client’s ids start at 1', async () => {
  await expect(lab.hosted('application.executeLater(() => {}, 1)')).rejects.toThrow(
    'application.executeLater can be used only in a function',
  )
  for (let time = 0; time < 2; time++) {
    expect((await (await open()).effects('run', ['application.executeLater(say, 7)'])).later).toEqual([
      { id: 1, milliseconds: 7 },
    ])
  }
})

test('executeLater: scripts that change built-ins do not affect it', async () => {
  const client = await open()
  await client.effects('run', [
    `Array.prototype.push = Function.prototype.apply = Reflect.apply = () => { throw new Error('mine') }
     Object.defineProperty(Object.prototype, '1', { set() { throw new Error('mine') }, get() { return { run: say, args: [] } } })
     application.executeLater((...given) => { said[said.length] = given[0] }, 1, ['a'])`,
  ])
  expect((await client.call('application.runLater', [1])).outcome).toMatchObject({ code: 'returned' })
  expect(await client.result('take')).toBe('["a"]')
})
