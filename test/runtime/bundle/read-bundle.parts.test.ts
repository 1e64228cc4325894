import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import type { Bundle } from '../../../runtime/bundle/bundle.ts'
import type { Manifest } from '../../../runtime/bundle/manifest.ts'
import { readBundle } from '../../../runtime/bundle/read-bundle.ts'
import { createLimits } from '../../../runtime/limits.ts'
import { bundleOf, type Files, manifestText, moduleFile, zipOf } from '../../support/zip.ts'

const LIMITS = createLimits()

const WHOLE: Files = {
  'solution.json': manifestText({ authenticator: 'AUTHENTICATOR', modules: ['auth', 'base'], firstForm: 'orders' }),
  'globals.js': 'function onSolutionOpen() {}',
  'scopes/b.ts': 'const b: number = 1',
  'scopes/a.js': 'const a = "é"',
  'forms/orders.json': '{}',
  'forms/orders.js': 'function onShow() {}',
  'media/login.html': '<form name="login_form"></form>',
  'media/images/logo.png': Uint8Array.from([137, 80, 78, 71]),
  'i18n/default.json': '{"a":"A"}',
  'i18n/nl_BE.json': '{"a":"B"}',
  'i18n/zh_Hant.json': '{}',
  'modules/base/solution.json': manifestText({ name: 'base', type: 'module' }),
  'modules/base/scopes/tools.js': 'function help() {}',
  'modules/base/forms/shared.json': '{}',
  'modules/auth/solution.json': manifestText({ name: 'auth', type: 'authenticator', modules: ['base'] }),
  'modules/auth/globals.ts': 'function onSolutionOpen(arg: unknown) {}',
  'modules/auth/i18n/nl.json': '{"x":"X"}',
}

async function read(packed: Uint8Array, limits = LIMITS) {
  return readBundle(packed, limits)
}

async function codesOf(packed: Uint8Array, limits = LIMITS): Promise<string[]> {
  const { bundle, faults } = await readBundle(packed, limits)
  expect(bundle === null).toBe(faults.length > 0)
  return faults.map(({ code, file }) => `${code} ${file}`)
}

async function warningsOf(packed: Uint8Array): Promise<string[]> {
  const { faults, warnings } = await readBundle(packed, LIMITS)
  expect(faults).toEqual([])
  return warnings.map(({ code, file }) => `${code} ${file}`)
}

function expectWhole(bundle: Bundle | null, packed: Uint8Array): void {
  const source = (file: string) => ({ file, source: WHOLE[file] })
  expect(bundle?.sha256).toBe(createHash('sha256').update(packed).digest('hex'))
  expect(bundle?.bytes).toBe(packed.length)
  expect(bundle?.manifest).toMatchObject({ name: 'crm', authenticator: 'AUTHENTICATOR', modules: ['auth', 'base'] })
  expect(bundle?.modules.map(({ name, manifest }) => `${name} ${manifest.type}`)).toEqual([
    'base module',
    'auth authenticator',
  ])
  expect(bundle?.scripts).toEqual([
    { module: 'base', ...source('modules/base/scopes/tools.js') },
    { module: 'auth', ...source('modules/auth/globals.ts') },
    { module: null, ...source('globals.js') },
    { module: null, ...source('scopes/a.js') },
    { module: null, ...source('scopes/b.ts') },
  ])
  expect(bundle?.formScripts).toEqual([{ module: null, form: 'orders', ...source('forms/orders.js') }])
  expect(bundle?.forms).toEqual([
    { module: 'base', form: 'shared', ...source('modules/base/forms/shared.json') },
    { module: null, form: 'orders', ...source('forms/orders.json') },
  ])
  expect(bundle?.i18n).toEqual([
    { module: 'auth', locale: 'nl', ...source('modules/auth/i18n/nl.json') },
    { module: null, locale: 'default', ...source('i18n/default.json') },
    { module: null, locale: 'nl-BE', ...source('i18n/nl_BE.json') },
    { module: null, locale: 'zh-Hant', ...source('i18n/zh_Hant.json') },
  ])
  expect(bundle?.media).toEqual(new Map([['images/logo.png', WHOLE['media/images/logo.png']]]))
  expect(bundle?.loginTemplate).toEqual(source('media/login.html'))
}

test.each([true, false])('bundle: a complete solution is read; compressed: %s', async (compress) => {
  const packed = await zipOf(WHOLE, { compress })
  const { bundle, faults, warnings } = await read(packed)
  expect({ faults, warnings }).toEqual({ faults: [], warnings: [] })
  expectWhole(bundle, packed)
})

test.skipIf(!hasZip()).each([[['-r']], [['-r', '-0']], [['-r', '-D', '-X']], [['-r', '-fd']], [['-r', '-fz']]])(
  'bundle: a file that was created with zip %s is read',
  async (options) => {
    const folder = mkdtempSync(join(tmpdir(), 'bundle-'))
    try {
      for (const [name, content] of Object.entries(WHOLE)) {
        mkdirSync(dirname(join(folder, 'in', name)), { recursive: true })
        writeFileSync(join(folder, 'in', name), content)
      }
      execFileSync('zip', [...options, '-q', '../out.zip', '.'], { cwd: join(folder, 'in') })
      const packed = readFileSync(join(folder, 'out.zip'))
      const { bundle, faults, warnings } = await read(packed)
      expect({ faults, warnings }).toEqual({ faults: [], warnings: [] })
      expectWhole(bundle, packed)
    } finally {
      rmSync(folder, { recursive: true })
    }
  },
)

test('bundle: the stored files do not depend on how the uploaded ZIP file was packed', async () => {
  const packed = await zipOf(WHOLE, { compress: false })
  const { bundle } = await read(packed)
  packed.fill(0)
  expect(bundle?.media.get('images/logo.png')).toEqual(WHOLE['media/images/logo.png'])
})

test('bundle: the smallest valid bundle contains only a manifest', async () => {
  const { bundle, warnings } = await read(await bundleOf())
  expect(warnings).toEqual([])
  expect(bundle).toMatchObject({ modules: [], scripts: [], formScripts: [], forms: [], i18n: [], loginTemplate: null })
})

test('bundle: a bundle without a manifest is rejected', async () => {
  expect(await codesOf(await zipOf({ 'globals.js': '' }))).toEqual(['manifest_missing solution.json'])
})

test('bundle: a zipped folder is rejected with the advice to zip its contents', async () => {
  const { faults, warnings } = await read(await zipOf({ 'app/solution.json': manifestText(), 'app/globals.js': '' }))
  expect(warnings).toEqual([])
  expect(faults).toEqual([
    {
      file: 'app/solution.json',
      code: 'manifest_in_folder',
      message: 'zip the contents of the folder "app", not the folder itself: solution.json must be at the top level',
    },
  ])
})

test('bundle: a manifest two folders down is not recognized', async () => {
  expect(await codesOf(await zipOf({ 'a/b/solution.json': manifestText() }))).toEqual([
    'manifest_missing solution.json',
  ])
})

test.each([
  ['a duplicate key', '{\n"name":"a",\n"name":"b"}', 3, 1],
  ['a prototype key', '{"__proto__":{"name":"x"}}', 1, 2],
  ['a byte order mark', `\ufeff${manifestText()}`, 1, 1],
  ['depth', '['.repeat(50_000), 1, 33],
])('bundle: a manifest with %s is json_invalid with its position', async (_case, text, line, column) => {
  const { faults } = await read(await zipOf({ 'solution.json': text }))
  expect(faults).toMatchObject([{ file: 'solution.json', code: 'json_invalid', line, column }])
})

test('bundle: files that are not UTF-8 are rejected', async () => {
  const bad = Uint8Array.from([0x61, 0xff])
  const names = [
    'solution.json',
    'globals.js',
    'forms/f.json',
    'forms/f.js',
    'i18n/nl.json',
    'media/login.html',
    'media/x.txt',
  ]
  expect(await codesOf(await zipOf(Object.fromEntries(names.map((name) => [name, bad]))))).toEqual([
    'json_invalid solution.json',
    'text_invalid globals.js',
    'text_invalid forms/f.js',
    'json_invalid forms/f.json',
    'json_invalid i18n/nl.json',
    'text_invalid media/login.html',
  ])
})

test('bundle: a byte order mark at the start of a script is dropped', async () => {
  const { bundle } = await read(await bundleOf({}, { 'globals.js': '\ufefflet a' }))
  expect(bundle?.scripts[0]?.source).toBe('let a')
})

test('bundle: unused files are kept and cause a warning, except for typical project files', async () => {
  const files = {
    'README.md': '',
    LICENSE: '',
    'types/api.d.ts': '',
    'scopes/a.d.ts': '',
    'scopes/a.test.ts': 'not loaded',
    'forms/a.test.js': '',
    'package.json': '{}',
    'scopes/deep/a.js': '',
    'globals.mjs': '',
    'modules/notes.txt': '',
    'i18n/nl.txt': '',
    'Forms/a.json': '{}',
  }
  const packed = await bundleOf({}, files)
  expect(await warningsOf(packed)).toEqual(
    ['Forms/a.json', 'globals.mjs', 'i18n/nl.txt', 'modules/notes.txt', 'package.json', 'scopes/deep/a.js'].map(
      (file) => `file_unused ${file}`,
    ),
  )
  expect((await read(packed)).bundle?.scripts).toEqual([])
})

test('bundle: folders, __MACOSX/ and .DS_Store are skipped silently', async () => {
  const files = { 'media/': '', '__MACOSX/._solution.json': 'x', '.DS_Store': 'x', 'media/.DS_Store': 'x' }
  const packed = await bundleOf({}, files)
  expect(await warningsOf(packed)).toEqual([])
  expect((await read(packed)).bundle?.media).toEqual(new Map())
})

test('bundle: warnings beyond the first 100 are only counted', async () => {
  const files = Object.fromEntries(Array.from({ length: 130 }, (_, index) => [`x${index}`, '']))
  const { warnings } = await read(await bundleOf({}, files))
  expect([warnings.length, warnings[100]?.code, warnings[100]?.message]).toEqual([
    101,
    'more_warnings',
    '30 more warnings are not listed',
  ])
})

test('bundle: errors beyond the first 100 are only counted', async () => {
  const files = Object.fromEntries(Array.from({ length: 130 }, (_, index) => [`a b${index}`, '']))
  const { faults } = await read(await bundleOf({}, files))
  expect([faults.length, faults[100]?.code, faults[100]?.message]).toEqual([
    101,
    'more_faults',
    '30 more errors are not listed',
  ])
})

test('bundle: errors of several kinds are listed together', async () => {
  const files = { 'a b': '', 'scopes/a.js': '', 'scopes/a.ts': '', 'i18n/dutch-language.json': '{}' }
  expect(
    await codesOf(await bundleOf({ firstForm: 'x', modules: ['y'], colour: 1, loginSolution: 'z' }, files)),
  ).toEqual([
    'name_invalid a b',
    'manifest_unknown_key solution.json',
    'module_missing solution.json',
    'form_missing solution.json',
    'module_missing solution.json',
    'name_duplicate scopes/a.ts',
    'i18n_invalid i18n/dutch-language.json',
  ])
})

test('bundle: the same script in JavaScript and TypeScript is reported as name_duplicate', async () => {
  const files = { 'globals.js': '', 'globals.ts': '', 'forms/f.json': '{}', 'forms/f.js': '', 'forms/f.ts': '' }
  expect(await codesOf(await bundleOf({}, files))).toEqual(['name_duplicate globals.ts', 'name_duplicate forms/f.ts'])
})

test('bundle: a form script without its form causes a warning and is not loaded', async () => {
  const packed = await bundleOf({}, { 'forms/f.js': '', 'forms/g.json': '{}', 'forms/g.ts': '' })
  expect(await warningsOf(packed)).toEqual(['form_script_unused forms/f.js'])
  expect((await read(packed)).bundle?.formScripts.map(({ form }) => form)).toEqual(['g'])
})

test.each(['nl-BE', 'NL', 'nl_be', 'dutch', 'default_BE', 'nl_BE_x', '_BE'])(
  'bundle: an i18n table for "%s" is reported as i18n_invalid',
  async (locale) => {
    expect(await codesOf(await bundleOf({}, { [`i18n/${locale}.json`]: '{}' }))).toEqual([
      `i18n_invalid i18n/${locale}.json`,
    ])
  },
)

test.each(['loginForm', 'firstForm'])(
  'bundle: %s must be a form in the solution or in a reachable module',
  async (key) => {
    const module = { ...moduleFile('base'), 'modules/base/forms/f.json': '{}' }
    expect(await codesOf(await bundleOf({ [key]: 'f' }, { 'forms/f.json': '{}' }))).toEqual([])
    expect(await codesOf(await bundleOf({ [key]: 'f', modules: ['base'] }, module))).toEqual([])
    expect(await codesOf(await bundleOf({ [key]: 'f' }, module))).toEqual(['form_missing solution.json'])
    expect(await codesOf(await bundleOf({ [key]: 'f' }, { 'forms/f.js': '' }))).toEqual(['form_missing solution.json'])
  },
)

test('bundle: a form in a module that signs users in is not available to clients, unless another module has it too', async () => {
  const form = { 'modules/auth/forms/f.json': '{}', 'modules/base/forms/f.json': '{}' }
  const files = { ...moduleFile('auth', { type: 'authenticator', modules: ['base'] }), ...moduleFile('base'), ...form }
  const manifest = { loginForm: 'f', authenticator: 'AUTHENTICATOR', modules: ['auth'] }
  expect(await codesOf(await bundleOf(manifest, files))).toEqual(['form_missing solution.json'])
  expect(await codesOf(await bundleOf({ ...manifest, modules: ['auth', 'base'] }, files))).toEqual([])
  const loginSolution = { loginForm: 'f', loginSolution: 'base', modules: ['base'] }
  expect(await codesOf(await bundleOf(loginSolution, files))).toEqual(['form_missing solution.json'])
})

test('bundle: the error for a misspelled form in the manifest suggests the nearest form that is available to clients', async () => {
  const files = {
    ...moduleFile('auth', { type: 'authenticator' }),
    'modules/auth/forms/order.json': '{}',
    'forms/orders.json': '{}',
    'forms/login.json': '{}',
  }
  const manifest = { loginForm: 'logon', firstForm: 'order', modules: ['auth'] }
  const { faults } = await read(await bundleOf(manifest, files))
  expect(faults.map(({ message }) => message)).toEqual([
    'forms/logon.json is not in the solution or its modules; did you mean "login"?',
    'forms/order.json is only in a module that signs users in, so clients cannot show it; did you mean "orders"?',
  ])
  const none = await read(await bundleOf({ firstForm: 'order' }, {}))
  expect(none.faults.map(({ message }) => message)).toEqual(['forms/order.json is not in the solution or its modules'])
})

test('bundle: loginSolution must be a reachable module', async () => {
  const module = moduleFile('login', { type: 'authenticator' })
  expect(await codesOf(await bundleOf({ loginSolution: 'login', modules: ['login'] }, module))).toEqual([])
  expect(await codesOf(await bundleOf({ loginSolution: 'login' }, module))).toEqual(['module_missing solution.json'])
})

test('bundle: a permission in signIn.requiredFor that no manifest lists is rejected, unless no manifest lists any permissions', async () => {
  const base = moduleFile('base', { permissions: ['Administrators'] })
  const requiredFor = ['Users', 'Administrators', 'Administrator']
  const manifest = { modules: ['base'], signIn: { secondFactor: 'required', requiredFor } }
  const { faults } = await read(await bundleOf({ ...manifest, permissions: ['Users'] }, base))
  expect(faults.map(({ code, message }) => `${code}: ${message}`)).toEqual([
    'manifest_invalid: "signIn.requiredFor" names the permission "Administrator", which no manifest lists in "permissions"; did you mean "Administrators"?',
  ])
  expect(await codesOf(await bundleOf(manifest, moduleFile('base')))).toEqual([])
  // There is no error about the unknown permission, because the missing module's manifest may list it.
  expect(await codesOf(await bundleOf({ ...manifest, permissions: ['Users'] }))).toEqual([
    'module_missing solution.json',
  ])
})

test('bundle: signIn with passkeys is refused at its line if the host does not support passkeys, and so is signIn in a module', async () => {
  const text = `{"name": "crm", "version": "1.0.0",\n"signIn": {"secondFactor": "passkey"}}`
  const packed = await zipOf({ 'solution.json': text, 'globals.js': 'function onSolutionOpen() {}' })
  expect((await read(packed)).faults).toEqual([])
  const asked: string[] = []
  const { faults, bundle } = await readBundle(packed, createLimits(), async (name) => asked.push(name) < 0)
  expect([faults, bundle, asked]).toEqual([
    [
      {
        file: 'solution.json',
        line: 2,
        column: 28,
        code: 'passkeys_unavailable',
        message:
          '"signIn.secondFactor" is "passkey", but this host doesn’t offer passkeys for the solution; use "required" instead',
      },
    ],
    null,
    ['crm'],
  ])
  const base = moduleFile('base', { signIn: { secondFactor: 'required' } })
  expect(await codesOf(await bundleOf({ modules: ['base'] }, base))).toEqual([
    'module_invalid modules/base/solution.json',
  ])
})

test.each(['AUTHENTICATOR', 'OAUTH', 'OAUTH PROVIDER', 'OAUTH_AUTHENTICATOR'])(
  'bundle: %s requires exactly one reachable authenticator',
  async (authenticator) => {
    const one = moduleFile('one', { type: 'authenticator' })
    const two = moduleFile('two', { type: 'authenticator' })
    const counts = [
      await codesOf(await bundleOf({ authenticator, modules: ['one'] }, one)),
      await codesOf(await bundleOf({ authenticator, modules: ['one'] }, { ...one, ...two })),
      await codesOf(
        await bundleOf({ authenticator, modules: ['base'] }, { ...moduleFile('base', { modules: ['one'] }), ...one }),
      ),
      await codesOf(await bundleOf({ authenticator }, one)),
      await codesOf(await bundleOf({ authenticator, modules: ['one', 'two'] }, { ...one, ...two })),
    ]
    const refused = ['authenticator_count solution.json']
    expect(counts).toEqual([[], [], [], refused, refused])
  },
)

test.each(['NONE', 'DEFAULT', 'PLATFORM_CLOUD'])('bundle: %s requires no authenticator', async (authenticator) => {
  expect(await codesOf(await bundleOf({ authenticator }))).toEqual([])
})

test('bundle: a missing authenticator is reported once', async () => {
  expect(await codesOf(await bundleOf({ authenticator: 'AUTHENTICATOR', modules: ['auth'] }))).toEqual([
    'module_missing solution.json',
  ])
})

test('modules: one without a manifest, with the type solution or with another name is rejected', async () => {
  const files = {
    'modules/a/globals.js': '',
    ...moduleFile('b', { type: 'solution' }),
    ...moduleFile('c', { name: 'x' }),
  }
  expect(await codesOf(await bundleOf({ modules: ['a', 'b', 'c'] }, files))).toEqual([
    'manifest_missing modules/a/solution.json',
    'module_invalid modules/b/solution.json',
    'module_invalid modules/c/solution.json',
  ])
})

test('modules: one that no manifest lists causes one warning, and its files are not read', async () => {
  const files = { ...moduleFile('a'), 'modules/a/globals.js': '', 'modules/b/x.txt': '', 'modules/b/globals.js': '' }
  const packed = await bundleOf({}, files)
  expect(await warningsOf(packed)).toEqual(['file_unused modules/a', 'file_unused modules/b'])
  expect((await read(packed)).bundle).toMatchObject({ modules: [], scripts: [] })
})

test('modules: their media are kept, but unused, and cause one warning', async () => {
  const files = { ...moduleFile('a'), 'modules/a/media/x.png': 'x', 'modules/a/media/login.html': 'x' }
  const packed = await bundleOf({ modules: ['a'] }, files)
  expect(await warningsOf(packed)).toEqual(['file_unused modules/a/media'])
  expect((await read(packed)).bundle).toMatchObject({ media: new Map(), loginTemplate: null })
})

test('modules: they are sorted in the order in which they are listed, after their dependencies', async () => {
  const files = { ...moduleFile('z', { modules: ['y'] }), ...moduleFile('y'), ...moduleFile('b'), ...moduleFile('a') }
  const { bundle } = await read(await bundleOf({ modules: ['b', 'z', 'a', 'y'] }, files))
  expect(bundle?.modules.map(({ name }) => name)).toEqual(['b', 'y', 'z', 'a'])
})

test('limits: a bundle larger than BUNDLE_SIZE is rejected immediately', async () => {
  const packed = await bundleOf({}, { 'media/x': 'x'.repeat(100) })
  expect(await codesOf(packed, createLimits({ BUNDLE_SIZE: packed.length }))).toEqual([])
  expect(await codesOf(packed, createLimits({ BUNDLE_SIZE: packed.length - 1 }))).toEqual(['too_large bundle.zip'])
})

test('limits: files that unpack to more than BUNDLE_UNPACKED are rejected', async () => {
  const unpacked = 1000 + Buffer.byteLength(manifestText())
  const packed = await bundleOf({}, { 'media/x': 'x'.repeat(1000) })
  expect(await codesOf(packed, createLimits({ BUNDLE_UNPACKED: unpacked }))).toEqual([])
  expect(await codesOf(packed, createLimits({ BUNDLE_UNPACKED: unpacked - 1 }))).toEqual(['too_large bundle.zip'])
})

test('limits: more than BUNDLE_FILES files are rejected, not counting skipped entries', async () => {
  const packed = await bundleOf({}, { 'media/x': '', 'media/': '', '.DS_Store': '' })
  expect(await codesOf(packed, createLimits({ BUNDLE_FILES: 2 }))).toEqual([])
  expect(await codesOf(packed, createLimits({ BUNDLE_FILES: 1 }))).toEqual(['too_many_files bundle.zip'])
})

test('limits: skipped entries are limited to four times BUNDLE_FILES', async () => {
  const skipped = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`__MACOSX/${index}`, '']))
  expect(await codesOf(await bundleOf({}, skipped(39)), createLimits({ BUNDLE_FILES: 10 }))).toEqual([])
  expect(await codesOf(await bundleOf({}, skipped(40)), createLimits({ BUNDLE_FILES: 10 }))).toEqual([
    'too_many_files bundle.zip',
  ])
})

test('limits: SCRIPT_SIZE limits each script and TEMPLATE_SIZE the login page', async () => {
  const files = {
    'globals.js': '123456',
    'scopes/a.ts': '12345',
    'media/login.html': '1234',
    'media/x.html': '1234567',
  }
  const packed = await bundleOf({}, files)
  expect(await codesOf(packed, createLimits({ SCRIPT_SIZE: 6, TEMPLATE_SIZE: 4 }))).toEqual([])
  expect(await codesOf(packed, createLimits({ SCRIPT_SIZE: 5, TEMPLATE_SIZE: 3 }))).toEqual([
    'too_large globals.js',
    'too_large media/login.html',
  ])
})

test('bundle: its manifest equals the result of checkManifest', async () => {
  const { bundle } = await read(
    await bundleOf({ authenticator: 'OAUTH PROVIDER', modules: ['a'] }, moduleFile('a', { type: 'authenticator' })),
  )
  const manifest: Manifest | undefined = bundle?.manifest
  expect(manifest).toMatchObject({ title: 'crm', authenticator: 'OAUTH', listed: true })
})

function hasZip(): boolean {
  try {
    execFileSync('zip', ['-v'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

test.each(['solution_settings.obj', 'shop/medias.obj', 'shop/forms/orders.frm', 'shop.servoy'])(
  'a workspace or export from the original product, recognised by its %s, is rejected with advice',
  async (file) => {
    const { faults } = await readBundle(await zipOf({ [file]: 'x', 'globals.js': '' }), createLimits())
    expect(faults).toEqual([
      { file: 'solution.json', code: 'manifest_missing', message: expect.stringContaining('docs/migrating.md') },
    ])
  },
)

test('a warning about files in medias/ suggests media/', async () => {
  const { warnings } = await readBundle(await bundleOf({}, { 'medias/logo.svg': '<svg/>' }), createLimits())
  expect(warnings.map(({ message }) => message)).toEqual([expect.stringContaining('put media files in media/')])
})
