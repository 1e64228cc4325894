import { afterAll, beforeEach, expect, test } from 'vitest'
import database, { type Parameter, type Row } from '../../plugins/database/host.ts'
import type { Call } from '../../runtime/plugin.ts'
import { ScriptError } from '../../runtime/plugin.ts'
import { createScriptLab } from '../support/solutions.ts'

type Asked = {
  readonly solution: string
  readonly name: string
  readonly sql: string
  readonly parameters: readonly Parameter[]
}

let asked: Asked[] = []
let answer: () => readonly Row[] = () => []
const plugin = database({
  async query(call: Call, name, sql, parameters) {
    asked.push({ solution: call.solution.name, name, sql, parameters })
    return answer()
  },
})
const lab = createScriptLab({ plugins: [plugin] })
afterAll(() => lab.stop())
beforeEach(() => {
  asked = []
  answer = () => []
})

async function run(body: string) {
  const script = `async function onSolutionOpen() { ${body} }`
  const { failure, values } = await lab.run({ script, evaluated: true })
  if (failure) throw new Error(`${failure.code}: ${failure.message}`)
  return values
}

test('a query is sent to the host with its parameters and returns its rows', async () => {
  answer = () => [{ id: 1, name: 'Anna', ok: true, none: null }]
  const values = await run(`
    const rows = await plugins.database.query('crm', 'SELECT ?', ['a', 1.5, true, null])
    return JSON.stringify({ rows, isArray: Array.isArray(rows), isPlain: Object.getPrototypeOf(rows[0]) === Object.prototype })`)
  expect(values).toEqual({ rows: [{ id: 1, name: 'Anna', ok: true, none: null }], isArray: true, isPlain: true })
  expect(asked).toEqual([{ solution: 'probe', name: 'crm', sql: 'SELECT ?', parameters: ['a', 1.5, true, null] }])
})

test('parameters can be omitted', async () => {
  await run(`await plugins.database.query('crm', 'SELECT 1')`)
  await run(`await plugins.database.query('crm', 'SELECT 1', null)`)
  expect(asked.map(({ parameters }) => parameters)).toEqual([[], []])
})

test('10,000 rows reach the script', async () => {
  answer = () => Array.from({ length: 10_000 }, (_, n) => ({ id: n, name: `name of ${n}`, note: 'x'.repeat(40) }))
  const values = await run(`
    const rows = await plugins.database.query('crm', 'SELECT 1')
    return JSON.stringify({ count: rows.length, last: rows[9999].id })`)
  expect(values).toEqual({ count: 10_000, last: 9999 })
})

test.each([
  ['()', 'name must be a string, but is undefined'],
  ["('crm')", 'sql must be a string, but is undefined'],
  ["(null, 'SELECT 1')", 'name must be a string, but is null'],
  ["('', 'SELECT 1')", 'name must have 1 to 64 characters'],
  ["('crm', '')", 'sql must have 1 to 65536 characters'],
  ["('crm', 'x'.repeat(65537))", 'sql must have 1 to 65536 characters'],
  ["('crm', 'SELECT 1', 'a')", 'parameters must be an array'],
  ["('crm', 'SELECT 1', new Array(1001).fill(0))", 'at most 1000 items'],
  ["('crm', 'SELECT ?', [undefined])", 'parameters[0] must be a string, a finite number, a boolean or null'],
  ["('crm', 'SELECT ?', [1, NaN])", 'parameters[1] must be'],
  ["('crm', 'SELECT ?', [10n])", 'parameters[0] must be'],
  ["('crm', 'SELECT ?', [new Date()])", 'pass a date or a bigint as a string'],
  ["('crm', 'SELECT ?', [{}])", 'parameters[0] must be'],
  ["('crm', 'SELECT ?', ['\\ud800'])", 'parameters[0] must be'],
])('a TypeError says what is wrong: query%s', async (args, text) => {
  const { error } = await run(`
    try { await plugins.database.query${args} } catch (error) { return JSON.stringify({ error: String(error) }) }`)
  expect(error).toContain('TypeError: plugins.database.query: ')
  expect(error).toContain(text)
  expect(asked).toEqual([])
})

test('a query’s error reaches the script as an Error that it can catch', async () => {
  answer = () => {
    throw new ScriptError('the operator has not granted the database crm to this solution')
  }
  const { error } = await run(`
    try { await plugins.database.query('crm', 'SELECT 1') } catch (error) { return JSON.stringify({ error: String(error) }) }`)
  expect(error).toBe('Error: the operator has not granted the database crm to this solution')
})

test('an uncaught query error is logged with its position', async () => {
  answer = () => {
    throw new ScriptError('the database reported: no such table')
  }
  const { failure } = await lab.run({
    script: `async function onSolutionOpen() {\n  await plugins.database.query('crm', 'SELECT 1')\n}`,
  })
  expect(failure).toMatchObject({ code: 'script_error', message: 'Error: the database reported: no such table' })
})

test('an internal error in the host reaches the script without its message', async () => {
  answer = () => {
    throw new Error('password of the account')
  }
  const { error } = await run(`
    try { await plugins.database.query('crm', 'SELECT 1') } catch (error) { return JSON.stringify({ error: String(error) }) }`)
  expect(error).toBe('Error: plugins.database.query failed')
})

test('if an array changes while it is read, the checked values are sent', async () => {
  await run(`
    let reads = 0
    const parameters = [1]
    Object.defineProperty(parameters, 0, { get: () => (reads++ === 0 ? 'first' : { hostile: true }) })
    await plugins.database.query('crm', 'SELECT ?', parameters)`)
  expect(asked[0]?.parameters).toEqual(['first'])
})

test('the host rejects requests from a guest that bypasses the binding', () => {
  const query = plugin.requests?.query
  for (const args of [
    [],
    ['crm'],
    ['crm', 'x', [{}]],
    ['crm', 'x'.repeat(65_537), []],
    ['crm', 'x', new Array(1001).fill(1)],
  ]) {
    expect(() => query?.check(args)).toThrow()
  }
})

test('a query counts as a change, so its call is never retried', () => {
  expect(plugin.requests?.query?.changes).toBe(true)
})
