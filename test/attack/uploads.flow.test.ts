import { existsSync, readdirSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { FaultCode } from '../../runtime/bundle/faults.ts'
import { openClient } from '../support/client-page.ts'
import { startTestHost, type TestHost } from '../support/host.ts'
import { ask, createVisitor } from '../support/http.ts'
import { bundleOf, type Files, manifestText, moduleFile, zipOf } from '../support/zip.ts'
import { HOSTILE_BUNDLES, MARKER, NAME } from './hostile-bundles.ts'

// Sends malicious bundles to a real host. The host must reject each with the right errors and keep serving the previous
// version.

type Problem = {
  readonly status: number
  readonly code: string
  readonly detail: string
  readonly correlationId: string
  readonly faults: readonly { readonly file: string; readonly code: FaultCode; readonly message: string }[]
}

let host: TestHost
let active: string
let files: readonly string[]

const api = async (path: string) =>
  (await ask(`${host.url}/admin/api${path}`, { headers: { authorization: host.admin } })).json()
const page = (name = NAME, query = '') => ask(`${host.url}/solution/${name}/index.html${query}`)

beforeAll(async () => {
  host = await startTestHost()
  const script = 'function onSolutionOpen() {}'
  const sound = await bundleOf({ authenticator: 'NONE' }, { 'globals.js': script, 'media/a.txt': 'the active one' })
  const uploaded = (await (await host.upload(NAME, sound)).json()) as { sha256: string }
  active = uploaded.sha256
  await page()
  files = filesOfHost()
})
afterAll(() => host.stop())

function filesOfHost(): readonly string[] {
  return readdirSync(host.home, { recursive: true }).map(String).sort()
}

/** Checks that the previous version is served, and that nothing was written except to the database. */
async function checkServed(): Promise<void> {
  expect((await ask(`${host.url}/solution/${NAME}/media/a.txt`)).text).toBe('the active one')
  expect(filesOfHost()).toEqual(files)
}

/** Does the checks of `checkServed`. Also checks that the version's scripts run, and that it is the only version. */
async function checkUntouched(): Promise<void> {
  await checkServed()
  expect((await page()).status).toBe(200)
  expect(await api(`/solutions/${NAME}`)).toMatchObject({ active, state: 'active', versions: [{ sha256: active }] })
}

async function refusedBy(packed: Uint8Array): Promise<Problem> {
  const answer = await host.upload(NAME, packed)
  expect(answer.headers.get('content-type')).toBe('application/problem+json')
  const problem = (await answer.json()) as Problem
  expect(problem.status).toBe(answer.status)
  return problem
}

test.each(HOSTILE_BUNDLES.map((hostile) => [hostile.does, hostile] as const))(
  'for a bundle %s, the response contains the errors, and the host serves the previous version',
  async (_does, { make, codes }) => {
    const { status, code, detail, correlationId, faults } = await refusedBy(await make())
    const isTooLarge = codes.every((one) => one === 'too_large' || one === 'too_many_files')
    expect([status, code]).toEqual(isTooLarge ? [413, 'ERR_BUNDLE_TOO_LARGE'] : [422, 'ERR_BUNDLE_REFUSED'])
    expect(detail).toMatch(
      /^The bundle was rejected because it has (one error|\d+ errors)\. The active version is unchanged\.$/,
    )
    expect(correlationId).toMatch(/^[A-Z0-9]{5}-[A-Z0-9]{5}$/)
    expect(faults.map((fault) => fault.code)).toEqual(codes)
    await checkServed()
  },
)

test('after all malicious bundles, the previous version is the only one, and none of their files were written', async () => {
  await checkUntouched()
  const folders = [host.home, dirname(host.home), tmpdir(), process.cwd(), dirname(process.cwd()), '/', homedir()]
  expect(folders.filter((folder) => existsSync(join(folder, MARKER)))).toEqual([])
})

// --- errors that only the upload's sandbox process finds -------------------------------------------------------------

const UTF16 = Buffer.from('\ufeff{}', 'utf16le')
const deep = (open: string, close: string) => `{"a":${open.repeat(10_000)}1${close.repeat(10_000)}}`

/** All errors are in one bundle, each in a separate file, because the check reports the errors in every file. */
const FAULTY: readonly (readonly [string, Files, readonly FaultCode[]])[] = [
  ['translations that are a list', { 'i18n/nl.json': '[]' }, ['json_invalid']],
  ['translations that are null', { 'i18n/de.json': 'null' }, ['json_invalid']],
  ['translations that are not texts', { 'i18n/fr.json': '{"a":1,"b":null,"c":["x"]}' }, Array(3).fill('i18n_invalid')],
  ['translations with toString for an object', { 'i18n/it.json': '{"toString":{}}' }, ['i18n_invalid']],
  ['translations that set __proto__', { 'i18n/es.json': '{"__proto__":{"a":"x"}}' }, ['json_invalid']],
  ['translations for the key constructor', { 'i18n/pt.json': '{"constructor":"x"}' }, ['json_invalid']],
  ['translations with a key twice', { 'i18n/da.json': '{"a":"1","a":"2"}' }, ['json_invalid']],
  ['translations that nest 10,000 lists', { 'i18n/sv.json': deep('[', ']') }, ['json_invalid']],
  ['translations with a byte order mark', { 'i18n/pl.json': '\ufeff{}' }, ['json_invalid']],
  ['a form that is a list', { 'forms/list.json': '[{}]' }, ['json_invalid']],
  ['a form that is a text', { 'forms/text.json': '"form"' }, ['json_invalid']],
  ['a form that sets __proto__', { 'forms/proto.json': '{"elements":[{"__proto__":{"a":1}}]}' }, ['json_invalid']],
  ['a form that nests 10,000 objects', { 'forms/deep.json': deep('{"a":', '}') }, ['json_invalid']],
  ['a form whose script does not compile', { 'forms/f.json': '{}', 'forms/f.js': '}' }, ['script_syntax']],
  [
    'a script that ends the wrapper around it',
    { 'scopes/ends.js': '}); process.exit(1); (function () {' },
    ['script_syntax'],
  ],
  ['a script that ends in a comment', { 'scopes/comment.js': 'let a /*' }, ['script_syntax']],
  ['a script with import', { 'scopes/imports.js': "import fs from 'node:fs'" }, ['script_syntax']],
  ['a script that is JSON', { 'scopes/json.js': '{"a":1}' }, ['script_syntax']],
  ['TypeScript that cannot be stripped', { 'scopes/enums.ts': 'enum A { B = process.exit() }' }, ['script_syntax']],
]

describe('a bundle with many errors', () => {
  let problem: Problem
  beforeAll(async () => {
    const files = Object.assign({}, ...FAULTY.map(([, added]) => added))
    problem = await refusedBy(await bundleOf({ authenticator: 'NONE' }, files))
  })

  test.each(FAULTY)('%s is rejected by the sandbox process', (_what, added, codes) => {
    const faults = problem.faults.filter(({ file }) => Object.hasOwn(added, file))
    expect(faults.map(({ code }) => code)).toEqual(codes)
  })

  test('the response lists no errors beyond these, and the host keeps running', async () => {
    expect([problem.status, problem.code]).toEqual([422, 'ERR_BUNDLE_REFUSED'])
    expect(problem.faults).toHaveLength(FAULTY.flatMap(([, , codes]) => codes).length)
    await checkUntouched()
  })
})

test.each<[string, Files, readonly FaultCode[]]>([
  ['translations in UTF-16', { 'i18n/nl.json': UTF16 }, ['json_invalid']],
  ['a script that throws while it is loading', { 'globals.js': 'throw { toString() { for (;;); } }' }, ['script_load']],
  ['a script that replaces bindings', { 'globals.js': "'use strict'; security = 1" }, ['script_load']],
  [
    'the function __proto__ in two files',
    { 'globals.js': 'function __proto__() {}', 'scopes/a.js': 'var __proto__' },
    ['name_twice'],
  ],
])('a bundle with %s is rejected by the sandbox process, and the host keeps running', async (_what, added, codes) => {
  const { status, code, faults } = await refusedBy(await bundleOf({ authenticator: 'NONE' }, added))
  expect([status, code]).toEqual([422, 'ERR_BUNDLE_REFUSED'])
  expect(faults.map((fault) => fault.code)).toEqual(codes)
  await checkUntouched()
})

const LOGIN_FORM = '<form name="login_form"><input name="username"><input name="password" type="password"></form>'

test.each([
  ['nests 40,000 elements', '<div>'.repeat(40_000)],
  [
    'nests 80,000 elements and closes them in the wrong order',
    `${'<b><i>'.repeat(20_000)}${'</b></i>'.repeat(10_000)}`,
  ],
  ['opens 60,000 nested links', '<a>'.repeat(60_000)],
  ['nests 25,000 tables', '<table>'.repeat(25_000)],
  ['has 30,000 attributes on one element', `<p ${Array.from({ length: 30_000 }, (_, i) => `a${i}`).join(' ')}>`],
  ['has 30,000 placeholders', '%%a%%'.repeat(30_000)],
  ['has a placeholder that never ends', `%%${'a'.repeat(200_000)}`],
  ['has a script with 200 kB of opening brackets', `<script>${'('.repeat(200_000)}"%%a%%"</script>`],
  ['has a script with 200 kB of nested template literals', `<script>${'`${'.repeat(60_000)}</script>`],
  ['nests 20,000 templates', '<template>'.repeat(20_000)],
])(
  'a login page that %s is accepted or rejected in time, and the host keeps running',
  { timeout: 60_000 },
  async (_case, soup) => {
    const name = 'soup'
    const packed = await zipOf({
      'solution.json': manifestText({ name, authenticator: 'AUTHENTICATOR', modules: ['auth'] }),
      ...moduleFile('auth', { type: 'authenticator' }),
      'modules/auth/globals.js': 'function onSolutionOpen() {}',
      'media/login.html': `${LOGIN_FORM}${soup}`,
    })
    const answer = await host.upload(name, packed)
    if (answer.status === 422) {
      const { faults } = (await answer.json()) as Problem
      expect(faults.map(({ code }) => code)).toEqual([expect.stringMatching(/^script_(timeout|crashed)$/)])
    } else {
      expect([200, 201]).toContain(answer.status)
      const login = await page(name)
      expect([login.status, login.text.includes('name="csrf_token"')]).toEqual([200, true])
    }
    await checkUntouched()
  },
)

// --- unusual but harmless bundles, in a real host --------------------------------------------------------------------

const NAMES = ['toString', 'valueOf', 'hasOwnProperty', '__defineGetter__']

test('messages, forms and permissions named like properties of Object.prototype behave like any other', async () => {
  const texts = Object.fromEntries(NAMES.map((name) => [name, `text of ${name}`]))
  const script = `function onSolutionOpen() {
    const names = ${JSON.stringify([...NAMES, 'isPrototypeOf', '__proto__', 'constructor'])}
    application.output(JSON.stringify({
      texts: names.map((name) => i18n.getI18NMessage(name)),
      permissions: names.map((name) => security.hasPermission(name)),
      polluted: [{}.a, ''.a, Object.keys(Object.prototype)],
    }))
  }
  function toString() { return 'mine' }
  var valueOf = 1`
  const packed = await bundleOf(
    { name: 'proto', authenticator: 'NONE', permissions: ['__proto__', ...NAMES] },
    {
      'globals.js': script,
      'i18n/default.json': JSON.stringify(texts),
      ...Object.fromEntries(['__proto__', 'constructor', ...NAMES].map((name) => [`forms/${name}.json`, '{}'])),
    },
  )
  expect(await (await host.upload('proto', packed)).json()).toMatchObject({ active: true, warnings: [] })
  expect((await page('proto')).status).toBe(200)
  const client = await openClient(host.url, 'proto', createVisitor(host.url))
  client.close()
  const { items } = (await api('/solutions/proto/log')) as { items: { level: string; message: string }[] }
  const [said, ...missing] = [...items].sort((a, b) => a.level.localeCompare(b.level))
  expect(missing.map(({ message }) => message)).toHaveLength(3)
  const { texts: shown, permissions, polluted } = JSON.parse(said?.message ?? '')
  expect(shown.slice(0, 4)).toEqual(NAMES.map((name) => `text of ${name}`))
  expect(shown.slice(4)).toEqual(['isPrototypeOf', '__proto__', 'constructor'].map(absentText))
  expect(permissions).toEqual(Array(7).fill(false))
  expect(polluted).toEqual([null, null, []])
})

/** Returns the text that a script gets for a key without a translation. */
function absentText(key: string): string {
  return `!${key}!`
}

test('a solution and its authenticator named "constructor" can sign users in, with permissions of such names', async () => {
  const script = `function onSolutionOpen(arg, fields) {
    security.login(fields.username, '1', ['__proto__', 'constructor'])
    return '{}'
  }`
  const packed = await bundleOf(
    { name: 'constructor', authenticator: 'AUTHENTICATOR', modules: ['constructor'] },
    { ...moduleFile('constructor', { type: 'authenticator' }), 'modules/constructor/globals.js': script },
  )
  expect(await (await host.upload('constructor', packed)).json()).toMatchObject({ active: true })
  const visitor = createVisitor(host.url)
  await visitor.get('/solution/constructor/index.html')
  const fields = { username: '__proto__', password: 'x' }
  expect((await visitor.post('/solution/constructor/index.html', fields)).status).toBe(303)
  const session = await visitor.get('/solution/constructor/session', { accept: 'application/json' })
  expect(session.json()).toMatchObject({ username: '__proto__', permissions: ['__proto__', 'constructor'] })
})

test('unknown solutions with names of Object.prototype’s properties return 404', async () => {
  const names = ['__proto__', 'tostring', 'toString', 'valueof', 'prototype', 'hasownproperty']
  for (const name of names) {
    const answer = await ask(`${host.url}/admin/api/solutions/${name}`, { headers: { authorization: host.admin } })
    expect([name, answer.status, (await page(name)).status]).toEqual([name, 404, 404])
  }
})

test('media files with unusual names are served under these names, as bytes if the extension is unknown', async () => {
  const names = ['__proto__', 'x.constructor', 'x.toString', 'x.__proto__', 'CON', 'aux.txt', 'x.', '...', '.htaccess']
  const media = Object.fromEntries(names.map((name) => [`media/${name}`, `content of ${name}`]))
  await host.upload('odd', await bundleOf({ name: 'odd', authenticator: 'NONE' }, media))
  for (const name of names) {
    const { status, text, headers } = await ask(host.url, { path: `/solution/odd/media/${name}` })
    expect([name, status, text]).toEqual([name, 200, `content of ${name}`])
    const type = name === 'aux.txt' ? 'text/plain; charset=utf-8' : 'application/octet-stream'
    expect([name, headers['content-type'], headers['x-content-type-options']]).toEqual([name, type, 'nosniff'])
  }
})

test('media files are not found under another spelling of their names', async () => {
  const spellings = ['A.txt', 'a.txt.', 'a.txt%00', './/a.txt', '%2e/a.txt', 'x/../a.txt', 'a.txt/', 'a.txt%20']
  const ways = ['../solution.json', '..%2fsolution.json', '%2e%2e/solution.json', '..\\solution.json', '%252e%252e/x']
  for (const spelling of [...spellings, ...ways, 'login.html', '../globals.js', '']) {
    const { status, text } = await ask(host.url, { path: `/solution/${NAME}/media/${spelling}` })
    expect([spelling, status >= 400, text.includes('the active one')]).toEqual([spelling, true, false])
  }
})

test('at the end, the host is healthy and has not logged any failures', async () => {
  await checkUntouched()
  expect(host.logged()).not.toContain('a request failed')
  expect((await ask(`${host.url}/health/ready`)).status).toBe(200)
})
