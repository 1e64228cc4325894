import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { PreparedSolution } from '../../base/bundles/prepared-solution.ts'
import { readStored } from '../../host/solutions/stored-solution.ts'
import { formWith } from '../support/forms.ts'
import { startTestHost, type TestHost } from '../support/host.ts'
import { ask } from '../support/http.ts'
import { bundleOf, type Files, moduleFile } from '../support/zip.ts'

// Tests how an upload stores a bundle's forms in the platform's database, through its sandbox process.

let host: TestHost
beforeAll(async () => {
  host = await startTestHost()
})
afterAll(() => host.stop())

type Answer = {
  readonly sha256: string
  readonly faults?: readonly { file: string; line?: number; code: string; message: string }[]
  readonly warnings: readonly { file: string; code: string; message: string }[]
}

async function upload(name: string, manifest: object, files: Files): Promise<{ status: number; answer: Answer }> {
  return send(name, await bundleOf({ name, authenticator: 'NONE', ...manifest }, files))
}

async function send(name: string, packed: Uint8Array): Promise<{ status: number; answer: Answer }> {
  const answer = await host.upload(name, packed)
  return { status: answer.status, answer: (await answer.json()) as Answer }
}

/** Accesses the platform's database directly while the host runs, to read or change a version's row. */
function withRow<T>(work: (database: DatabaseSync) => T): T {
  const file = (readdirSync(host.home, { recursive: true }) as string[]).find((name) => name.endsWith('.sqlite'))
  const database = new DatabaseSync(join(host.home, file as string), { timeout: 5000 })
  try {
    return work(database)
  } finally {
    database.close()
  }
}

function storedOf(sha256: string): PreparedSolution {
  const query = 'select prepared from solution_versions where sha256 = ?'
  const row = withRow((database) => database.prepare(query).get(sha256)) as { prepared: string }
  return readStored(row.prepared).prepared
}

const ORDERS = {
  title: 'i18n:orders.title',
  permission: 'Users',
  ...formWith(
    { type: 'image', name: 'logo', src: 'logo.svg', alt: 'i18n:orders.logo' },
    { type: 'button', name: 'save', label: 'Save', onAction: 'save' },
  ),
}
const FILES: Files = {
  'forms/orders.json': JSON.stringify(ORDERS),
  'forms/orders.ts':
    'function onShow(first: boolean) {}\nconst save = async (event: object): Promise<void> => {}\nlet other = 1',
  'media/logo.svg': '<svg xmlns="http://www.w3.org/2000/svg"/>',
  'i18n/default.json': '{"orders.title":"Orders"}',
  ...moduleFile('base', { permissions: ['Users'] }),
  'modules/base/i18n/default.json': '{"orders.logo":"Logo"}',
  'modules/base/forms/orders.json': '{"title":"of the module"}',
}
const MANIFEST = { firstForm: 'orders', modules: ['base'] }

test('forms are stored as definitions, scripts with their functions, and valid forms cause no warnings', async () => {
  const { status, answer } = await upload('orders', MANIFEST, FILES)
  expect([status, answer.faults, answer.warnings]).toEqual([201, undefined, []])
  const { forms, formScripts } = storedOf(answer.sha256)
  expect(forms.map(({ module, form }) => [module, form])).toEqual([
    ['base', 'orders'],
    [null, 'orders'],
  ])
  expect(forms.map(({ definition }) => definition)).toEqual([
    { title: 'of the module', layout: [] },
    {
      title: ORDERS.title,
      permission: 'Users',
      onShow: 'onShow',
      ...formWith(
        { type: 'image', name: 'logo', src: 'logo.svg', alt: 'i18n:orders.logo', visible: true, enabled: true },
        {
          type: 'button',
          name: 'save',
          label: 'Save',
          kind: 'secondary',
          onAction: 'save',
          visible: true,
          enabled: true,
        },
      ),
    },
  ])
  expect(formScripts.map(({ form, functions }) => [form, functions])).toEqual([['orders', ['onShow', 'save']]])
  expect(formScripts[0]?.source).not.toContain('boolean')
  expect((await ask(`${host.url}/solution/orders/index.html`)).status).toBe(200)
})

test('the list of entry functions in main is stored, including onSolutionClose', async () => {
  const both = 'function onSolutionOpen() {}; const onSolutionClose = async () => {}'
  const { answer } = await upload(
    'closes',
    {},
    { 'globals.js': both, 'forms/a.json': '{}', 'forms/a.js': 'function getOAuthConfig() {}' },
  )
  expect(storedOf(answer.sha256).entries).toEqual({ main: ['onSolutionOpen', 'onSolutionClose'] })
  const neither = await upload('closes', {}, { 'globals.js': 'let onSolutionClose = 5' })
  expect(storedOf(neither.answer.sha256).entries).toEqual({ main: [] })
})

test('form errors and warnings are reported with file and position; a rejected bundle changes nothing', async () => {
  const { status, answer } = await upload(
    'faulty',
    {},
    {
      'forms/a.json': JSON.stringify(
        formWith({ type: 'button', name: 'b', onAction: 'missing' }, { type: 'label', name: 'b' }),
      ),
      'forms/b.json': '{"titel":"x","layout":[{"columns":[{"elements":[{"type":"nothing","name":"c"}]}]}]}',
      'forms/c.json': '{"title":"i18n:nowhere"}',
      'i18n/default.json': '{"a":"{0}"}',
      'i18n/nl.json': '{"a":"{1}"}',
      'forms/d.js': '}',
      'forms/d.json': '{"onShow":"show"}',
    },
  )
  expect(status).toBe(422)
  expect(answer.faults?.map(({ file, code }) => `${code} ${file}`)).toEqual([
    'script_syntax forms/d.js',
    'form_function_missing forms/a.json',
    'form_name_twice forms/a.json',
    'form_invalid forms/b.json',
    'form_unknown_key forms/b.json',
  ])
  expect(answer.warnings.map(({ file, code }) => `${code} ${file}`)).toEqual([
    'form_text_missing forms/c.json',
    'i18n_placeholder i18n/nl.json',
  ])
})

test.each([
  ['DEFAULT', ['form_invalid forms/entry.json:3']],
  // In this mode, users don't sign in with a form, so `loginForm` has no effect.
  ['NONE', []],
])('in the mode %s, a login form with a permission has the errors %j', async (authenticator, expected) => {
  const form = (title: string) => `{\n  "title": "${title}",\n  "permission": "Users"\n}`
  const files = { 'forms/entry.json': form('Sign in'), 'forms/orders.json': form('Orders') }
  const manifest = { authenticator, loginForm: 'entry', firstForm: 'orders', permissions: ['Users'] }
  const { answer } = await upload('entry', manifest, files)
  expect((answer.faults ?? []).map(({ file, line, code }) => `${code} ${file}:${line}`)).toEqual(expected)
})

test('form warnings are repeated when the same bundle is uploaded again', async () => {
  const form = JSON.stringify({ title: 'i18n:nowhere', permission: 'Nobody' })
  const manifest = { name: 'warned', authenticator: 'NONE', permissions: ['Users'] }
  const packed = await bundleOf(manifest, { 'forms/a.json': form })
  const codes = ['form_text_missing', 'form_permission_unlisted']
  for (const expected of [201, 200]) {
    const { status, answer } = await send('warned', packed)
    expect([status, answer.warnings.map(({ code }) => code)]).toEqual([expected, codes])
  }
})

test('forms that an older host stored in another format are empty until the same bundle is uploaded again', async () => {
  const packed = await bundleOf({ name: 'older', authenticator: 'NONE', ...MANIFEST }, FILES)
  const { answer } = await send('older', packed)
  const now = storedOf(answer.sha256)
  const old = JSON.stringify({
    ...now,
    warnings: [],
    formScripts: now.formScripts.map(({ functions: _functions, ...script }) => script),
    forms: [{ module: null, form: 'orders', source: '{"any":"thing"}' }],
  })
  const changed = withRow((database) =>
    database.prepare('update solution_versions set prepared = ? where sha256 = ?').run(old, answer.sha256),
  )
  expect(changed.changes).toBe(1)
  expect(storedOf(answer.sha256).forms).toEqual([{ module: null, form: 'orders', definition: { layout: [] } }])
  expect((await ask(`${host.url}/solution/older/index.html`)).status).toBe(200)
  const again = await send('older', packed)
  expect([again.status, again.answer.sha256]).toEqual([200, answer.sha256])
  expect(storedOf(answer.sha256)).toEqual(now)
})

const LABEL = (index: number) => ({ type: 'label', name: `l${index}` })

test.each<[string, Files, readonly string[]]>([
  [
    'forms with 30,000 elements',
    { 'forms/a.json': JSON.stringify(formWith(...Array.from({ length: 30_000 }, (_, index) => LABEL(index)))) },
    ['form_invalid'],
  ],
  [
    'a form with 300,000 empty options',
    {
      'forms/a.json': JSON.stringify(
        formWith(
          ...Array.from({ length: 300 }, (_, i) => ({ type: 'select', name: `s${i}`, options: Array(1000).fill({}) })),
        ),
      ),
    },
    ['form_invalid'],
  ],
  [
    'a form script that is nested too deeply to find its functions',
    {
      'forms/a.json': '{"onShow":"show"}',
      'forms/a.js': `function show() {}\n${'('.repeat(3000)}1${')'.repeat(3000)}`,
    },
    ['script_syntax'],
  ],
  ['a form with half of a surrogate pair', { 'forms/a.json': '{"title":"\\ud800"}' }, ['form_invalid']],
  ['a form with an infinite number', { 'forms/a.json': '{"title":1e999}' }, ['json_invalid']],
  [
    'a form with 70 nested lists',
    { 'forms/a.json': `{"layout":${'['.repeat(70)}${']'.repeat(70)}}` },
    ['json_invalid'],
  ],
])('the host responds in time to a bundle with %s', async (_what, files, codes) => {
  const { status, answer } = await upload('hostile', {}, files)
  expect([status, answer.faults?.map(({ code }) => code)]).toEqual([422, codes])
})

test('40 forms with 1,000 elements each are accepted', async () => {
  const elements = Array.from({ length: 1000 }, (_, index) => ({
    type: 'text',
    name: `t${index}`,
    label: `Text ${index}`,
  }))
  const form = JSON.stringify(formWith(...elements))
  const count = 40
  const { status, answer } = await upload(
    'many',
    {},
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`forms/f${index}.json`, form])),
  )
  expect([status, answer.faults]).toEqual([201, undefined])
  expect(storedOf(answer.sha256).forms.length).toBe(count)
})
