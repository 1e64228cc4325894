import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readBundle } from '../../runtime/bundle/read-bundle.ts'
import { createLimits } from '../../runtime/limits.ts'
import { type CliRun, runCli, runCliProcess, temporaryFolder, writeFiles } from '../support/cli.ts'

const MANIFEST = `{
  "name": "crm",
  "version": "1.0.0"
}
`

async function check(files: Record<string, string>, ...words: string[]): Promise<CliRun> {
  using folder = temporaryFolder({ 'solution.json': MANIFEST, ...files })
  return await runCli(['check', ...words], { cwd: folder.path })
}

test('check: a syntax error is shown with position, line, caret and what to change', async () => {
  const script = 'function total(rows) {\n  return rows.map((row) => row.amount\n}\n'
  using folder = temporaryFolder({ 'solution.json': MANIFEST, 'globals.js': script })
  expect(await runCliProcess(['check'], { cwd: folder.path })).toEqual({
    code: 3,
    err: '',
    out: `globals.js:2:32  error script_syntax  SyntaxError: missing ) after argument list
    2 │   return rows.map((row) => row.amount
      │                                ^
    → Fix the script here, or just before this position.

crm 1.0.0: 1 error, 0 warnings.
Next: fix the problems above, then run solhost check .
`,
  })
})

test('check: the error for require says that scripts cannot use it', async () => {
  const { out } = await check({ 'globals.js': "const fs = require('fs')\n" })
  expect(out).toContain(
    'globals.js:1:12  error script_load  ReferenceError: require is not defined: scripts cannot use import, export or require; the top-level functions of all scripts are global\n',
  )
})

test('check: an error that a script throws while it is loading is shown at its own line, whichever file called it', async () => {
  const files = {
    'globals.js': "const rates = readRates('EUR')\n",
    'scopes/rates.js': "function readRates(currency) {\n\tif (currency === 'EUR') throw new Error('no rates')\n}\n",
  }
  const { code, out } = await check(files)
  // globals.js runs before the scopes, so the function does not exist yet.
  expect([code, out]).toEqual([
    3,
    `globals.js:1:15  error script_load  ReferenceError: readRates is not defined
    1 │ const rates = readRates('EUR')
      │               ^
    → Fix this line: it runs when the scripts are loaded. If it needs a request, a session or a form, move the code into a function.

crm 1.0.0: 1 error, 0 warnings.
Next: fix the problems above, then run solhost check .
`,
  ])
  const thrown = await check({ 'globals.js': `${files['scopes/rates.js']}readRates('EUR')\n` })
  expect(thrown.out).toContain(`globals.js:2:32  error script_load  Error: no rates
    2 │  if (currency === 'EUR') throw new Error('no rates')
      │                                ^
`)
})

test('check: an endless script is stopped, and reported at its loop with the limit that it exceeded', async () => {
  const { code, out } = await check({ 'globals.js': 'let count = 0\nwhile (true) count++\n' })
  expect(code).toBe(3)
  expect(
    out,
  ).toBe(`globals.js:2:1  error script_timeout  the top-level code of the scripts ran longer than 1000 ms (LOAD_TIME)
    2 │ while (true) count++
      │ ^
    → Fix the endless loop, or move slow code into a function: the scripts must load within one second.

crm 1.0.0: 1 error, 0 warnings.
Next: fix the problems above, then run solhost check .
`)
})

test('check: a script that cannot be interrupted, or uses too much memory, is reported with its file', async () => {
  const native = 'Array.prototype.indexOf.call(new Proxy({ length: Number.MAX_SAFE_INTEGER }, {}), 1)\n'
  const auth = { 'modules/auth/solution.json': '{ "name": "auth", "version": "1.0.0", "type": "authenticator" }' }
  const manifest = '{ "name": "crm", "version": "1.0.0", "authenticator": "AUTHENTICATOR", "modules": ["auth"] }'
  const first = async (files: Record<string, string>) => (await check(files)).out.split('\n')[0]
  const main = { 'globals.js': 'const one = 1\n', 'scopes/rates.js': native }
  expect(await first(main)).toBe(
    'scopes/rates.js  error script_timeout  the script could not be loaded within 1000 ms (LOAD_TIME)',
  )
  const login = { ...auth, 'solution.json': manifest, 'modules/auth/globals.js': native }
  expect(await first(login)).toBe(
    'modules/auth/globals.js  error script_timeout  the script could not be loaded within 1000 ms (LOAD_TIME)',
  )
  const hungry = {
    'globals.js': 'const one = 1\n',
    'scopes/all.js': 'const all = []; for (;;) all.push(new Array(1000).fill(0))\n',
  }
  expect(await first(hungry)).toMatch(/^scopes\/all\.js {2}error script_(memory|crashed) /)
})

test('check: an unknown key in the manifest or a form is reported with the closest known key', async () => {
  const form =
    '{\n  "layout": [{ "columns": [{ "elements": [\n    { "type": "button", "name": "go", "onActoin": "go" }\n  ]}]}]\n}\n'
  const manifest = '{\n  "name": "crm",\n  "version": "1.0.0",\n  "autenticator": "NONE"\n}\n'
  const ofManifest = await check({ 'solution.json': manifest, 'forms/main.json': form })
  expect([ofManifest.code, ofManifest.out.split('\n').slice(0, 5)]).toEqual([
    3,
    [
      'solution.json:4:3  error manifest_unknown_key  the manifest has an unknown property "autenticator"; did you mean "authenticator"?',
      '    4 │   "autenticator": "NONE"',
      '      │   ^',
      '    → Fix the name of the property, or remove it.',
      '',
    ],
  ])
  const ofForm = await check({ 'forms/main.json': form })
  expect(ofForm.out.split('\n').slice(0, 4)).toEqual([
    'forms/main.json:3:39  error form_unknown_key  "layout.0.columns.0.elements.0" (go) has an unknown property "onActoin"; did you mean "onAction"?',
    '    3 │     { "type": "button", "name": "go", "onActoin": "go" }',
    '      │                                       ^',
    '    → Fix the name of the property, or remove it.',
  ])
})

test('check: errors in several files are listed together, each with its position', async () => {
  const { out } = await check({
    'solution.json': '{ "name": "crm", "version": "1", "firstForm": "mian", "modules": ["sale"] }\n',
    'forms/main.json': '{ "layout": [] }',
  })
  expect(out.split('\n').filter((line) => line.includes('  error '))).toEqual([
    'solution.json:1:29  error manifest_invalid  "version" must be a semantic version such as 1.0.0, not "1"',
    'solution.json:1:67  error module_missing  "modules" lists "sale", but there is no folder modules/sale',
    'solution.json:1:47  error form_missing  forms/mian.json is not in the solution or its modules; did you mean "main"?',
  ])
})

const LOGIN_PAGE = `<!doctype html>
<title>Sign in</title>
<form name="login_form" method="post" accept-charset="UTF-8" role="form">
  <p id="errorlabel" class="errorlabel">%%i18n:wrong%%</p>
  <input type="text" name="username" onfocus="go()">
  <input type="checkbox" name="remember"><input type="hidden" name="id_token">
</form>
`

test('check: a login page without a password field causes a warning at its form, and an error with --strict', async () => {
  const files = { 'media/login.html': LOGIN_PAGE }
  const warned = await check(files)
  expect(warned).toEqual({
    code: 0,
    err: '',
    out: `media/login.html:3:1  warning template_replaced  the default login page is shown instead of this page: the page does not have an input with name="password" in the login form; add it
    3 │ <form name="login_form" method="post" accept-charset="UTF-8" role="form">
      │ ^
    → Add the missing part; "solhost login-template" writes a complete page.

media/login.html:5:38  warning template_inline_handler  ${/template_inline_handler {2}(.*)/.exec(warned.out)?.[1]}
    5 │   <input type="text" name="username" onfocus="go()">
      │                                      ^
    → Use addEventListener in a <script> on the page.

crm 1.0.0: 0 errors, 2 warnings.
Next: solhost deploy . <url>
`,
  })
  const strict = await check(files, '--strict')
  expect([strict.code, strict.out.split('\n').at(-2)]).toEqual([
    3,
    'Next: fix the problems above, then run solhost check .',
  ])
})

test('check: each input that is missing on a login page is reported at the form that should have it', async () => {
  const page = LOGIN_PAGE.replace(' onfocus="go()"', '').replace(
    '<input type="checkbox" name="remember"><input type="hidden" name="id_token">',
    '<input type="password" name="password">',
  )
  const { code, out } = await check({ 'media/login.html': page, 'i18n/default.json': '{"wrong": "Wrong"}' })
  expect([code, out]).toEqual([
    0,
    `media/login.html:3:1  warning template_element_missing  users cannot choose to be remembered; add <input type="checkbox" name="remember"> to the login form
    3 │ <form name="login_form" method="post" accept-charset="UTF-8" role="form">
      │ ^
    → Add or change the element that the message names.

media/login.html:3:1  warning template_element_missing  automatic sign-in does not work; add <input type="hidden" name="id_token"> to the login form
    3 │ <form name="login_form" method="post" accept-charset="UTF-8" role="form">
      │ ^
    → Add or change the element that the message names.

crm 1.0.0: 0 errors, 2 warnings.
Next: solhost deploy . <url>
`,
  ])
})

test('check: scripts can use a host’s bindings, including databases and HTTP', async () => {
  const script =
    'const ask = [plugins.database.query, plugins.http.fetch, forms.main.getName, security.login].map((one) => one.name)\n'
  expect((await check({ 'globals.js': script, 'forms/main.json': '{ "layout": [] }' })).out).toBe(
    'crm 1.0.0: 0 errors, 0 warnings.\nNext: solhost deploy . <url>\n',
  )
})

test('check --json: prints the errors in the API’s format, and nothing else', async () => {
  const { code, out, err } = await check({ 'globals.js': 'return }' }, '--json')
  expect([code, err]).toEqual([3, ''])
  expect(JSON.parse(out)).toEqual({
    ok: false,
    name: 'crm',
    version: '1.0.0',
    sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
    bytes: expect.any(Number),
    faults: [
      { file: 'globals.js', line: 1, column: 1, code: 'script_syntax', message: expect.stringContaining('return') },
    ],
    warnings: [],
  })
})

test('colors are only used on a terminal: NO_COLOR and a pipe disable them, FORCE_COLOR enables them', async () => {
  using folder = temporaryFolder({ 'solution.json': MANIFEST })
  const run = (env: Record<string, string>) => runCliProcess(['check'], { cwd: folder.path, env })
  expect((await run({})).out).not.toContain('\u001b')
  expect((await run({ NO_COLOR: '1' })).out).not.toContain('\u001b')
  expect((await run({ FORCE_COLOR: '1' })).out).toContain('\u001b[32m0 errors, 0 warnings\u001b[39m')
})

test('init: creates a solution without errors or warnings; rejects an invalid name, a non-empty folder and a file', async () => {
  using folder = temporaryFolder({ 'full/notes.txt': 'mine', file: 'mine' })
  const run = (...words: string[]) => runCli(words, { cwd: folder.path })
  const made = await run('init', 'my-shop')
  expect([made.code, made.err]).toEqual([0, ''])
  expect(made.out).toBe(`Created the solution "my-shop":
  my-shop/.solhost/form.schema.json
  my-shop/.solhost/solution.schema.json
  my-shop/.solhost/test.d.ts
  my-shop/README.md
  my-shop/forms/welcome.js
  my-shop/forms/welcome.json
  my-shop/globals.js
  my-shop/globals.test.js
  my-shop/i18n/default.json
  my-shop/i18n/nl.json
  my-shop/jsconfig.json
  my-shop/media/style.css
  my-shop/solhost.d.ts
  my-shop/solution.json

Next:
  solhost dev my-shop            (runs it here; open pages update on each save)
  solhost test my-shop           (runs its tests)
  solhost deploy my-shop <url>   (deploys it to a host)
`)
  const readme = readFileSync(join(folder.path, 'my-shop/README.md'), 'utf8')
  // Without npx, the commands fail in a clone. Without --user, deploy and logs ask for an API token.
  expect(readme.match(/(?<!npx )solhost [a-z].*/g)).toBeNull()
  expect(readme.match(/^npx solhost (?:deploy|logs) my-shop \S+ --user admin /gm)).toHaveLength(2)
  expect((await run('check', 'my-shop', '--strict')).out).toBe(
    'my-shop 1.0.0: 0 errors, 0 warnings.\nNext: solhost deploy my-shop <url>\n',
  )
  expect(readFileSync(join(folder.path, 'my-shop/solution.json'), 'utf8')).toContain('"title": "My shop"')

  expect(await run('init', 'My_Shop')).toEqual({
    code: 2,
    out: '',
    err:
      '"My_Shop" is not a valid solution name: it must be a name of 1 to 63 lowercase letters, digits and hyphens, ' +
      'without a hyphen at the start or end, and without "--" at positions 3 and 4.\n',
  })
  expect((await run('init', '../up')).code).toBe(2)
  expect(await run('init', 'full')).toEqual({
    code: 1,
    out: '',
    err: '"full" already exists and is not empty. Nothing was changed. Choose another name, or remove the existing file or folder first.\n',
  })
  expect((await run('init', 'file')).err).toContain('"file" already exists and is not a folder')
  expect(readFileSync(join(folder.path, 'file'), 'utf8')).toBe('mine')
})

test('pack: the same files always produce the same bundle, without files that are only for the author', async () => {
  using folder = temporaryFolder()
  const run = (...words: string[]) => runCli(words, { cwd: folder.path })
  await run('init', 'shop')
  const tools = {
    'shop/.git/HEAD': 'x',
    'shop/node_modules/a/index.js': 'x',
    'shop/old.zip': 'x',
    'shop/globals.test.js': 'x',
    'shop/media/.DS_Store': 'x',
  }
  writeFiles(folder.path, tools)
  const packed = await run('pack', 'shop')
  const [, bytes, sha256] = /(\d+) bytes, 8 files\nsha256 ([0-9a-f]{64})\n/.exec(packed.out) ?? []
  expect(packed).toEqual({
    code: 0,
    err: '',
    out: `shop-1.0.0.zip: shop 1.0.0, ${bytes} bytes, 8 files
sha256 ${sha256}
Next: upload the bundle on the host’s admin pages. "solhost deploy" packs and uploads in one step.
`,
  })
  const { bundle, warnings } = await readBundle(readFileSync(join(folder.path, 'shop-1.0.0.zip')), createLimits())
  expect([bundle?.sha256, bundle?.bytes, warnings]).toEqual([sha256, Number(bytes), []])
  const again = await run('pack', 'shop', '-o', 'again.zip', '--json')
  expect(JSON.parse(again.out)).toEqual({
    ok: true,
    file: 'again.zip',
    name: 'shop',
    version: '1.0.0',
    sha256,
    bytes: Number(bytes),
    warnings: [],
  })
  expect((await run('pack', 'shop', '-o', 'none/x.zip')).err).toMatch(/^Cannot write none\/x\.zip: ENOENT/)
})

test('pack: fails for a solution with errors', async () => {
  using folder = temporaryFolder({ 'solution.json': MANIFEST, 'globals.js': 'let a\nlet a\n' })
  const { code, out, err } = await runCli(['pack', '-o', 'x.zip'], { cwd: folder.path })
  expect([code, out]).toEqual([3, ''])
  expect(err).toContain('globals.js:2:5  error script_syntax')
  expect(err).toContain('1 error, 0 warnings. Next: fix the errors, then run the command again.\n')
  expect(() => readFileSync(join(folder.path, 'x.zip'))).toThrow('ENOENT')
})

test('login-template: writes a complete default page; an existing page is kept unless --force is set', async () => {
  using folder = temporaryFolder({ 'solution.json': MANIFEST })
  const run = (...words: string[]) => runCli(words, { cwd: folder.path })
  expect(await run('login-template')).toEqual({
    code: 0,
    err: '',
    out: 'Wrote media/login.html, the default login page with its placeholders.\nNext: change the page, then run solhost check .\n',
  })
  const file = join(folder.path, 'media/login.html')
  const page = readFileSync(file, 'utf8')
  expect(page).toContain('%%i18n:platform.logindialog.title%%')
  expect((await run('check', '--strict')).code).toBe(0)
  writeFiles(folder.path, { 'media/login.html': 'mine' })
  expect(await run('login-template')).toEqual({
    code: 1,
    out: '',
    err: 'media/login.html already exists. Add --force to replace it.\n',
  })
  expect(readFileSync(file, 'utf8')).toBe('mine')
  await run('login-template', '--force')
  expect(readFileSync(file, 'utf8')).toBe(page)
})

test('login-template: says that a solution open to everyone has no login page', async () => {
  using folder = temporaryFolder({ 'solution.json': '{ "name": "crm", "version": "1.0.0", "authenticator": "NONE" }' })
  expect((await runCli(['login-template'], { cwd: folder.path })).out).toContain('Set "authenticator"')
})

test('a mistyped command exits with code 2 and suggests the closest command', async () => {
  using folder = temporaryFolder({ 'solution.json': MANIFEST, 'inner/solution.json': MANIFEST })
  using empty = temporaryFolder({ 'crm/solution.json': MANIFEST })
  const run = async (words: string[], cwd = folder.path) => {
    const { code, out, err } = await runCli(words, { cwd })
    expect([code, out]).toEqual([2, ''])
    return err.trimEnd().split('\n')[0]
  }
  expect(await run(['chek'])).toBe(
    'Unknown command "chek". Did you mean "check"? Run "solhost help" for a list of commands.',
  )
  const unknown = async (...words: string[]) => (await run(words))?.replace(/ Run "solhost help".*$/, '')
  expect(await unknown('usrs', 'list')).toBe('Unknown command "usrs". Did you mean "users"?')
  expect(await unknown('jbos')).toBe('Unknown command "jbos". Did you mean "jobs"?')
  expect(await unknown('frobnicate')).toBe('Unknown command "frobnicate".')
  expect(await run(['check', '--jsno'])).toBe('solhost check: unknown option --jsno. Did you mean --json?')
  expect(await run(['check', '--json=yes'])).toBe('solhost check: --json does not accept a value.')
  expect(await run(['pack', '-o'])).toBe('solhost pack: -o requires a value.')
  expect(await run(['check', '.', 'more'])).toBe('solhost check: unexpected argument "more".')
  expect(await run(['deploy', '.'])).toBe('solhost deploy: missing argument <url>.')
  expect(await run(['check', 'nowhere'])).toContain('The folder "nowhere" does not exist.')
  expect(await run(['check'], empty.path)).toBe('The folder "." contains no solution.json. Did you mean "crm"?')
  expect(await run(['deploy', '.', 'http://127.0.0.1:8080/solution/crm/'])).toContain('without a path')
  expect(await run(['deploy', '.', 'http://example.org'])).toContain('would be sent to')
  expect(await run(['deploy', '.', 'http://127.example.org'])).toContain('would be sent to')
  expect(await run(['deploy', '.', 'http://127.0.0.1:8080'])).toBe(
    'SOLHOST_TOKEN is not set, and there is no terminal for a prompt. Set SOLHOST_TOKEN.',
  )
})
