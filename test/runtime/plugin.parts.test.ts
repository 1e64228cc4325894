import { afterAll, expect, test } from 'vitest'
import { type Plugin, ScriptError } from '../../runtime/plugin.ts'
import { createProbe } from '../support/probe/host.ts'
import { createScriptLab } from '../support/solutions.ts'

const probe = createProbe()

/**
 * Creates a copy of the probe plugin with another name, `plugins.NAME`. Its request calls `answer`, which throws an
 * error.
 */
function under(name: string, answer: () => never): Plugin {
  const requests = { ask: { check: (args: unknown) => args, changes: false, answer } }
  return { ...probe, name, under: 'plugins', requests }
}

const told = under('told', () => {
  throw new ScriptError('the operator has not granted it')
})
const untold = under('untold', () => {
  throw new Error('a secret of the host')
})
const lab = createScriptLab({ plugins: [told, untold] })
afterAll(() => lab.stop())

const ASK = (binding: string) => `async function onSolutionOpen() {
  try { await ${binding}.ask() } catch (error) { return JSON.stringify({ text: String(error) }) }
}`

test('a plugin under "plugins" is a property of that global and not a separate global', async () => {
  const seen = await lab.evaluate(
    'return [Object.keys(plugins).includes("told"), typeof plugins.told.ask, typeof told, typeof untold]',
  )
  expect(seen).toEqual([true, 'function', 'undefined', 'undefined'])
})

test('the global "plugins" and its contents cannot be changed', async () => {
  const seen = await lab.evaluate(`
    plugins = null
    plugins.told = null
    plugins.told.ask = null
    plugins.more = 1
    delete plugins.told
    return [typeof plugins.told.ask, 'more' in plugins, Object.isFrozen(plugins), Object.isFrozen(plugins.told)]`)
  expect(seen).toEqual(['function', false, true, true])
})

test('a command from a plugin under "plugins" arrives like any other', async () => {
  await lab.run({ script: 'function onSolutionOpen() { plugins.told.keep(7); security.login("a", "b", ["c"]) }' })
  expect(probe.take()).toEqual([[7]])
})

test('a ScriptError’s message reaches the script', async () => {
  const { values } = await lab.run({ script: ASK('plugins.told') })
  expect(values).toEqual({ text: 'Error: the operator has not granted it' })
})

test('for any other error, the script sees only the name of the binding that failed', async () => {
  const { values } = await lab.run({ script: ASK('plugins.untold') })
  expect(values).toEqual({ text: 'Error: plugins.untold.ask failed' })
})

test('the error of a request names the line that waits for the answer', async () => {
  const script =
    'async function onSolutionOpen() {\n  await deep()\n}\nasync function deep() {\n  await plugins.told.ask()\n}'
  const { failure } = await lab.run({ script, file: 'login.js' })
  expect(failure).toMatchObject({
    message: 'Error: the operator has not granted it',
    position: { file: 'login.js', line: 5, column: 3 },
  })
})

test('a long ScriptError is truncated', () => {
  expect(new ScriptError('x'.repeat(5000)).message).toBe(`${'x'.repeat(2000)}…`)
})
