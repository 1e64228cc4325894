import { afterAll, expect, test } from 'vitest'
import { version } from '../../base/program/version.ts'
import { isAllowedAddress } from '../../runtime/address.ts'
import { createScriptLab } from '../support/solutions.ts'

const lab = createScriptLab({ forms: ['orders'] })
afterAll(() => lab.stop())

test('application: it has the solution’s name and version, the URL and the environment', async () => {
  const body = `return [application.getSolutionName(), application.getSolutionVersion(), application.getServerURL(), application.getEnvironment()]`
  expect(await lab.evaluate(body)).toEqual(['probe', '1.0.0', 'http://127.0.0.1:8080', 'none'])
})

test('application.getUUID: two calls return two different version 4 UUIDs', async () => {
  const [first, second] = (await lab.evaluate('return [application.getUUID(), application.getUUID()]')) as [
    string,
    string,
  ]
  expect(first).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  expect(first).not.toBe(second)
})

test('application.output and console write log lines with level and position', async () => {
  const script =
    "function onSolutionOpen() {\n  application.output({ a: [1] }, 'warning')\n  console.error('x', 5, null)\n}"
  const { log } = await lab.run({ script })
  expect(log).toEqual([
    expect.objectContaining({ level: 'warn', message: '{"a":[1]}', position: expect.objectContaining({ line: 2 }) }),
    expect.objectContaining({ level: 'error', message: 'x 5 null', position: expect.objectContaining({ line: 3 }) }),
  ])
})

test('application.output: a LOGGINGLEVEL constant and its number are accepted; any other level causes a TypeError', async () => {
  const script = `function onSolutionOpen() {
    for (const level of [...Object.values(LOGGINGLEVEL), 'FATAL']) application.output(level, level)
    const errors = []
    for (const level of [-1, 5, 1.5, NaN, 'length', {}]) try { application.output('', level) } catch (error) { errors.push(error.name) }
    return JSON.stringify({ errors, frozen: Object.isFrozen(LOGGINGLEVEL) })
  }`
  const { log, values } = await lab.run({ script, evaluated: true })
  const levels = [0, 1, 2, 3, 4, 'FATAL'].map(String)
  expect(log.map(({ level, message }) => [message, level])).toEqual(
    ['debug', 'info', 'warn', 'error', 'error', 'error'].map((level, index) => [levels[index], level]),
  )
  expect(values).toEqual({ errors: Array(6).fill('TypeError'), frozen: true })
})

test('LOGGINGLEVEL: a solution can declare its own global with this name', async () => {
  const script = `const LOGGINGLEVEL = { WARNING: 'warning' }
    function onSolutionOpen() { application.output('own', LOGGINGLEVEL.WARNING) }`
  expect((await lab.run({ script })).log).toEqual([expect.objectContaining({ level: 'warn', message: 'own' })])
})

test('application.getVersion: it returns the version of the platform, not of the solution', async () => {
  expect(await lab.evaluate('return [application.getVersion(), application.getSolutionVersion()]')).toEqual([
    version,
    '1.0.0',
  ])
})

test('application.closeSolution: it throws a TypeError in a login, because no client is open', async () => {
  const script = "function onSolutionOpen() { application.closeSolution('orders') }"
  expect((await lab.run({ script, evaluated: true })).failure?.message).toContain(
    'can be called only in an open client',
  )
})

test.each(['http://a.example/x?y=1#z', 'https://a.example:8443', 'mailto:a@b.example', '/path?x=1', '/'])(
  'application.showURL: %s is allowed',
  async (url) => {
    const { effects } = await lab.run({
      script: `function onSolutionOpen() { application.showURL(${JSON.stringify(url)}) }`,
      evaluated: true,
    })
    expect(effects.showUrl).toBe(url)
  },
)

const REFUSED = [
  'javascript:alert(1)',
  'data:text/html,<script>1</script>',
  'file:///etc/passwd',
  '//evil.example',
  '/\\evil.example',
  'http://a@b/',
  'http://x/\r\nSet-Cookie: a=b',
  ' javascript:1',
  '\u0001javascript:1',
  'java\nscript:1',
  'http:evil.example',
  'https:/evil.example',
  'ftp://a.example',
  'relative/path',
  'http://999.999.999.999/',
  '/q?x=\u3000',
  'https://a.example:99999/',
  '',
  `/${'x'.repeat(2048)}`,
]
test.each(REFUSED)(
  'application.showURL: %j causes a TypeError in the script and is rejected by the host',
  async (url) => {
    const { effects, failure } = await lab.run({
      script: `function onSolutionOpen() { application.showURL(${JSON.stringify(url)}) }`,
      evaluated: true,
    })
    expect(failure?.message).toMatch(/^TypeError: application\.showURL/)
    expect(effects.showUrl).toBeNull()
    expect(isAllowedAddress(url)).toBe(false)
  },
)

test('application.showForm: a form in the solution is an effect of the call; an unknown form causes a TypeError', async () => {
  const good = await lab.run({ script: "function onSolutionOpen() { application.showForm('orders') }", kind: 'open' })
  expect(good.effects.form).toBe('orders')
  const bad = await lab.run({ script: "function onSolutionOpen() { application.showForm('nope') }", kind: 'open' })
  expect(bad.failure?.message).toBe('TypeError: application.showForm: the solution has no form nope')
})
