import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { storedVersions } from '../long/dev-saves.ts'
import { childrenOf, openFiles } from '../long/processes.ts'
import { runCli, runCliProcess, temporaryFolder, writeFiles } from '../support/cli.ts'
import { type ClientPage, openClient, openClientPage } from '../support/client-page.ts'
import { type DevProcess, devForm, devSolution, homeOf, startDev } from '../support/dev-process.ts'
import { createVisitor } from '../support/http.ts'
import { sharedHost } from '../support/shared-host.ts'
import { waitUntil } from '../support/wait-until.ts'
import { bundleOf } from '../support/zip.ts'

// Runs `solhost dev` as a separate process, and saves files while pages are open.

let shared: DevProcess & Disposable
let version = 0
beforeAll(async () => {
  shared = await startDev(devSolution('x'))
})
afterAll(() => shared[Symbol.dispose]())

/**
 * Replaces the solution of the shared `solhost dev` process with these files. Most tests share that process and run
 * sequentially.
 */
async function devWith(files: Readonly<Record<string, string>>): Promise<DevProcess> {
  const manifest = JSON.parse(files['solution.json'] ?? '') as object
  shared.mark()
  // Pause the process, so that it treats all files as one change, however long it takes to write them.
  process.kill(shared.pid, 'SIGSTOP')
  for (const name of readdirSync(shared.folder).filter((one) => one !== '.state')) {
    rmSync(join(shared.folder, name), { recursive: true })
  }
  writeFiles(shared.folder, {
    ...files,
    'solution.json': JSON.stringify({ ...manifest, version: `1.0.${++version}` }),
  })
  process.kill(shared.pid, 'SIGCONT')
  // Wait for the line about this change, which contains the manifest's name. Other lines belong to the previous test,
  // because a page may show a change before its line is printed.
  await shared.printed(/^(?:.*\bsolution\.json\b.*|.* more): active after/m)
  shared.mark()
  return shared
}

const FOUND = /active after \d+ ms, (.*)\n/

/** Waits until a form on the page contains this text. */
async function shows(page: ClientPage, words: string): Promise<void> {
  await page.until(words, () => page.frames.some((frame) => frame.kind === 'form' && frame.html.includes(words)))
}

test('dev: a saved form appears on an open page, which stays on the same form and keeps its input', async () => {
  const dev = await devWith({
    ...devSolution('before'),
    'forms/first.json': JSON.stringify({
      title: 'First',
      layout: [{ columns: [{ elements: [{ type: 'button', name: 'go', label: 'Go', onAction: 'go' }] }] }],
    }),
    'forms/first.js': "function go() { application.showForm('main') }",
    'solution.json': JSON.stringify({ name: 'shop', version: '1.0.0', authenticator: 'NONE', firstForm: 'first' }),
  })
  const page = await openClient(dev.url, 'shop', createVisitor(dev.url))
  await page.press('first', 'go')
  await page.enter('main', 'name', 'typed')
  await page.press('main', 'greet')
  expect(page.text('main', 'answer')).toBe('first')

  dev.mark()
  dev.save('forms/main.json', devForm('after'))
  await shows(page, 'after')
  expect((await dev.printed(FOUND))[0]).toMatch(/^active after \d+ ms, in 1 open page\n$/)
  await dev.printed(/^forms\/main\.json: active/m)
  expect(page.html()).toContain('id="f-main"')
  expect(page.element('main', 'name')).toContain('value="typed"')
  // Changes made by scripts are lost in a new version; only user input is restored.
  expect(page.text('main', 'answer')).toBe('-')

  dev.save(
    'forms/main.js',
    "function greet() { forms.main.elements.answer.label = 'Hi ' + forms.main.elements.name.value }",
  )
  dev.mark()
  await dev.printed(FOUND)
  await page.press('main', 'greet')
  expect(page.text('main', 'answer')).toBe('Hi typed')
  expect(page.frames.filter(({ kind }) => kind === 'reopened')).toEqual([])
  page.close()
})

test('dev: an input’s handler runs again in the new version, and can reject the input', async () => {
  const withHandler = (script: string) => ({
    'forms/main.json': devForm('x').replace('"name": "name"', '"name": "name", "onElementDataChange": "changed"'),
    'forms/main.js': `function greet() {}\nfunction changed(before, after) { ${script} }`,
  })
  const dev = await devWith({ ...devSolution('x'), ...withHandler('forms.main.elements.answer.label = after') })
  const page = await openClient(dev.url, 'shop', createVisitor(dev.url))
  await page.enter('main', 'name', 'Ada')
  dev.save('forms/main.js', withHandler('forms.main.elements.answer.label = after.toUpperCase()')['forms/main.js'])
  await page.until('the answer', () => page.text('main', 'answer') === 'ADA')
  dev.save('forms/main.js', withHandler("return 'No names, please'")['forms/main.js'])
  await shows(page, 'No names, please')
  expect(page.element('main', 'name')).not.toContain('value="Ada"')
  page.close()
})

test('dev: tables keep their order, page and selection, and tabs stay open, if the new form still has them', async () => {
  const form = (label: string, more: object = {}) =>
    devForm(
      label,
      {
        type: 'table',
        name: 'table',
        columns: [{ name: 'title', label: 'Title', sortable: true }],
        selection: 'multiple',
        pageSize: 5,
        value: Array.from({ length: 12 }, (_, index) => ({ id: index + 1, title: String.fromCharCode(97 + index) })),
        ...more,
      },
      { type: 'tabs', name: 'tabs', tabs: ['one', 'two'].map((name) => ({ name, label: name, layout: [] })) },
    )
  const dev = await devWith({ ...devSolution('x'), 'forms/main.json': form('before') })
  const page = await openClient(dev.url, 'shop', createVisitor(dev.url))
  await page.event('main', 'table', 'onSort', { column: 'title', direction: 'descending' })
  await page.event('main', 'table', 'showPage', 2)
  await page.event('main', 'table', 'onRecordSelection', { rows: [7, 6], selected: true })
  await page.event('main', 'tabs', 'showTab', 'two')
  const before = [page.element('main', 'table'), page.element('main', 'tabs')]
  dev.save('forms/main.json', form('after'))
  await shows(page, 'after')
  expect([page.element('main', 'table'), page.element('main', 'tabs')]).toEqual(before)
  expect(page.text('main', 'table')).toContain('g')
  expect(before[0]?.match(/<input[^>]*data-select[^>]* checked/g)).toHaveLength(2)

  dev.save('forms/main.json', form('single', { selection: 'single', columns: [{ name: 'title', label: 'Title' }] }))
  await shows(page, 'single')
  expect(page.element('main', 'table').match(/<input[^>]*data-select[^>]* checked/g)).toHaveLength(1)
  expect(page.text('main', 'table')).toContain('6 to 10 of 12')
  page.close()
})

test('dev: an error is shown with its line, the previous version keeps running, and saving a fix activates the new version', async () => {
  const dev = await devWith(devSolution('one'))
  const page = await openClient(dev.url, 'shop', createVisitor(dev.url))
  dev.mark()
  dev.save('globals.js', 'function total(rows) {\n  return rows.map((row) => row.amount\n}\n')
  await dev.printed(/1 error, 0 warnings\. Open pages stay unchanged until you fix the errors and save\.\n/)
  expect(dev.out()).toContain(`globals.js:2:32  error script_syntax  SyntaxError: missing ) after argument list
    2 │   return rows.map((row) => row.amount
      │                                ^
    → `)
  await page.press('main', 'greet')
  expect(page.text('main', 'answer')).toBe('first')
  dev.mark()
  dev.save('globals.js', 'function total(rows) { return 0 }\n')
  await dev.printed(FOUND)
  dev.mark()
  dev.save('odd.txt', 'x')
  await dev.printed(FOUND)
  expect(dev.out()).toContain('odd.txt  warning file_unused  ')
  page.close()
})

test('dev: if a version cannot open, the page waits for the next version', async () => {
  using dev = await startDev(devSolution('one'))
  const page = await openClient(dev.url, 'shop', createVisitor(dev.url))
  await page.enter('main', 'name', 'typed')
  dev.mark()
  dev.save('globals.js', "function onSolutionOpen() { throw new Error('not like this') }\n")
  await dev.printed(/error globals\.js:1:35.*not like this/)
  // Another visitor opens the page while the newest version has an error.
  const late = await openClientPage(dev.url, 'shop', createVisitor(dev.url))
  late.hello()
  await late.frame('message')
  // Input that is entered now is transferred to the next version.
  await page.enter('main', 'name', 'typed on')
  dev.save('globals.js', '')
  dev.save('forms/main.json', devForm('two'))
  await Promise.all([shows(page, 'two'), shows(late, 'two')])
  expect(page.element('main', 'name')).toContain('value="typed on"')
  expect([...page.frames, ...late.frames].filter(({ kind }) => kind === 'closed')).toEqual([])
  page.close()
  late.close()
})

test('dev: adding, removing or replacing many files together creates only one version', async () => {
  const dev = await devWith(devSolution('one'))
  const page = await openClient(dev.url, 'shop', createVisitor(dev.url))
  const saved = async (save: () => void) => {
    dev.mark()
    save()
    return (await dev.printed(/^(.*): active after/m))[1]
  }
  expect(await saved(() => dev.save('scopes/rates.js', 'const rates = 1\n'))).toBe('scopes/rates.js (new)')
  expect(await saved(() => rmSync(join(dev.folder, 'scopes'), { recursive: true }))).toBe('scopes/rates.js (removed)')
  const replaced = await saved(() => {
    // Saves like vim and other editors that keep a backup copy.
    writeFileSync(join(dev.folder, 'forms/main.json~'), 'a copy')
    writeFileSync(join(dev.folder, 'forms/.main.json.swp'), 'half of it')
    writeFileSync(join(dev.folder, 'forms/.new'), devForm('replaced'))
    renameSync(join(dev.folder, 'forms/.new'), join(dev.folder, 'forms/main.json'))
  })
  expect(replaced).toBe('forms/main.json')
  await shows(page, 'replaced')
  const burst = await saved(() => {
    for (let number = 1; number <= 40; number++) dev.save('forms/main.json', devForm(`burst ${number}`))
    for (const name of ['a', 'b', 'c', 'd']) dev.save(`media/${name}.txt`, name)
  })
  expect(burst).toMatch(/^forms\/main\.json, media\/a\.txt \(new\), media\/b\.txt \(new\) and 2 more$/)
  await shows(page, 'burst 40')
  expect(page.frames.filter((frame) => frame.kind === 'form' && /burst (?!40)/.test(frame.html))).toEqual([])
  // Files that are not part of the solution do not create a new version.
  const count = () => dev.out().split('active after').length
  const before = count()
  mkdirSync(join(dev.folder, 'node_modules/x'), { recursive: true })
  writeFileSync(join(dev.folder, 'node_modules/x/index.js'), 'x')
  writeFileSync(join(dev.folder, 'forms/main.test.js'), 'x')
  await saved(() => dev.save('forms/main.json', devForm('last')))
  expect(count()).toBe(before + 1)
  page.close()
})

test('dev: a login form keeps its input, and signs in with the latest script', async () => {
  const manifest = { name: 'shop', version: '1.0.0', authenticator: 'DEFAULT', loginForm: 'main', firstForm: 'main' }
  const login = (uid: string) =>
    `function greet() { if (forms.main.elements.name.value === 'ada') security.login('ada', '${uid}', ['all']) }`
  const dev = await devWith({
    ...devSolution('x', ''),
    'solution.json': JSON.stringify(manifest),
    'forms/main.js': login('u1'),
  })
  const visitor = createVisitor(dev.url)
  await visitor.get('/solution/shop/index.html')
  const page = await openClient(dev.url, 'shop', visitor)
  await page.enter('main', 'name', 'ada')
  dev.mark()
  dev.save('forms/main.js', login('u2'))
  await dev.printed(FOUND)
  expect(page.element('main', 'name')).toContain('value="ada"')
  await page.press('main', 'greet')
  const { token } = await page.frame('sign-in')
  expect((await visitor.post('/solution/shop/index.html', { id_token: token })).status).toBe(303)
  const session = await visitor.get('/solution/shop/session', { accept: 'application/json' })
  expect(JSON.parse(session.text)).toMatchObject({ username: 'ada', uid: 'u2' })
  page.close()
})

test('without dev mode, an open page keeps its version, and error pages do not reload', async () => {
  const host = await sharedHost()
  const upload = async (label: string) => {
    const files = { 'forms/main.json': devForm(label), 'forms/main.js': devSolution('')['forms/main.js'] as string }
    const bundle = await bundleOf({ name: 'not-live', authenticator: 'NONE', firstForm: 'main' }, files)
    expect((await host.upload('not-live', bundle)).status).toBe(201)
  }
  expect(host.live).toBe(null)
  await upload('one')
  const visitor = createVisitor(host.url)
  const page = await openClient(host.url, 'not-live', visitor)
  await upload('two')
  // A page opened now gets the new version; the page that is already open keeps the old one.
  const other = await openClient(host.url, 'not-live', visitor)
  expect(other.text('main', 'heading')).toBe('two')
  await page.press('main', 'greet')
  expect([page.text('main', 'answer'), page.text('main', 'heading')]).toEqual(['first', 'one'])
  expect(page.frames.filter(({ kind }) => kind === 'renewed')).toEqual([])
  const missing = await visitor.get('/solution/none/index.html')
  expect([missing.status, missing.headers.refresh]).toEqual([404, undefined])
  page.close()
  other.close()
})

test('dev: script output and errors are shown immediately, with their positions', async () => {
  const script = "function greet() {\n  console.log('greeted', forms.main.elements.name.value)\n  nothing.at.all\n}\n"
  const dev = await devWith({ ...devSolution('x'), 'forms/main.js': script })
  const page = await openClient(dev.url, 'shop', createVisitor(dev.url))
  await page.enter('main', 'name', 'Ada\u001b[31m')
  await page.press('main', 'greet')
  await dev.printed(/Z info {2}forms\/main\.js:2:11 {2}greeted /)
  await dev.printed(/Z error forms\/main\.js:3:3 script_error {2}ReferenceError: nothing is not defined \(\S+\)\n/)
  expect(dev.out()).not.toContain('\u001b')
  page.close()
})

test('dev: a port set with --port must be free; without --port, the next free port is used and shown. Plugins are never loaded', async () => {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  using folder = temporaryFolder(devSolution('x'))
  expect(
    await runCliProcess(['dev', '.', '--port', String(port)], { cwd: folder.path, env: { ADMIN_PORT: '0' } }),
  ).toEqual({
    code: 1,
    out: '',
    err: `Port ${port} is already in use. Stop the process that uses it, or choose another port with --port.\n`,
  })
  using made = temporaryFolder()
  const write = `import { writeFileSync } from 'node:fs'
writeFileSync(${JSON.stringify(join(made.path, 'ran'))}, '')
export default () => ({ name: 'evil', guest: new URL('./guest.ts', import.meta.url), commands: {} })
`
  const plugin = {
    '.solhost/dev/plugins/evil/host.js': write,
    '.solhost/dev/plugins/evil/guest.ts': 'export default () => {}',
  }
  using own = temporaryFolder({ ...devSolution('x'), ...plugin })
  writeFiles(join(homeOf(own.path), 'plugins/evil'), { 'host.js': write, 'guest.ts': 'export default () => {}' })
  using dev = await startDev({}, { folder: own.path, env: { PORT: String(port) } })
  expect(Number(new URL(dev.url).port)).toBeGreaterThan(port)
  expect(dev.out()).toContain(`Port ${port} is already in use. Using port ${new URL(dev.url).port} instead.\n`)
  expect(await runCliProcess(['dev', '.', '--port', 'http'], { cwd: folder.path })).toEqual({
    code: 2,
    out: '',
    err: '"http" is not a valid port. Use a number from 1 to 65535, or 0 for any free port.\n',
  })
  const page = await openClient(dev.url, 'shop', createVisitor(dev.url))
  await shows(page, 'x')
  expect(readdirSync(made.path)).toEqual([])
  page.close()
  server.close()
})

test('dev: if the first version has errors, its page shows them until they are fixed; a new name has a new URL', async () => {
  using dev = await startDev({ ...devSolution('x'), 'globals.js': 'return }' })
  const told = `The page at ${dev.url}/solution/shop/ shows these errors until you fix them:\n`
  expect(dev.out()).toContain(told)
  const visitor = createVisitor(dev.url)
  for (const path of ['/', '/solution/shop/', '/solution/shop/index.html']) {
    const refused = await visitor.get(path)
    expect([path, refused.status, refused.text]).toEqual([path, 404, expect.stringContaining('globals.js:1:1')])
  }
  expect(await visitor.get('/solution/shop/session')).toMatchObject({ status: 404 })
  const state = async () => {
    const { status, text } = await visitor.get('/dev-state', { 'sec-fetch-dest': 'empty' })
    return [status, text]
  }
  const first = await state()
  expect(first).toEqual([200, expect.any(String)])
  expect(await state()).toEqual(first)
  // The URL is printed once, also if the next version has errors.
  dev.save('globals.js', 'return ]')
  await waitUntil(() => expect(dev.out().match(/1 error, 0 warnings/g)).toHaveLength(2), { timeout: 30_000 })
  expect(dev.out().split(told)).toHaveLength(2)
  dev.save('globals.js', '')
  await dev.printed(/^shop 1\.0\.0 is running at (\S+)\n/m)
  expect(dev.out()).toContain(`shop 1.0.0 is running at ${dev.url}/solution/shop/\n`)
  const found = await visitor.get('/solution/shop/index.html')
  expect([found.status, found.headers.refresh]).toEqual([200, undefined])
  expect((await state())[0]).toBe(404)
  const manifest = { name: 'store', version: '1.1.0', authenticator: 'NONE', firstForm: 'main' }
  dev.save('solution.json', JSON.stringify(manifest))
  await dev.printed(/^store 1\.1\.0 is running at \S+\n/m)
  expect((await visitor.get('/solution/shop/index.html')).status).toBe(404)
  expect((await visitor.get('/solution/store/index.html')).status).toBe(200)
})

test('dev: the test user gets its own password, which stays the same at the next start; removing the folder ends dev with an error', async () => {
  const manifest = { name: 'shop', version: '1.0.0', permissions: ['buyers'], firstForm: 'main' }
  using dev = await startDev({ ...devSolution('x'), 'solution.json': JSON.stringify(manifest) })
  const [, password = ''] = await dev.printed(/^Sign in as +dev, password (\S+)\n/m)
  const visitor = createVisitor(dev.url)
  await visitor.get('/solution/shop/index.html')
  expect((await visitor.post('/solution/shop/index.html', { username: 'dev', password })).status).toBe(303)
  const page = await openClient(dev.url, 'shop', visitor)
  // The sign-in requirement changed, so the page reloads and gets the current version.
  dev.save('solution.json', JSON.stringify({ ...manifest, authenticator: 'NONE' }))
  expect((await page.frame('go')).href).toBe('/solution/shop/index.html')
  page.close()
  dev.save('solution.json', JSON.stringify(manifest))
  await waitUntil(() => expect(dev.out().match(/^Sign in as/gm)).toHaveLength(2), { timeout: 30_000 })
  expect(await dev.stop()).toBe(0)

  const home = homeOf(dev.folder)
  expect(readFileSync(join(home, 'dev-password'), 'utf8')).toBe(`${password}\n`)
  const packed = await runCli(['pack', '.', '--json'], { cwd: dev.folder })
  expect(JSON.parse(packed.out)).toMatchObject({ ok: true, warnings: [] })
  writeFiles(dev.folder, { 'globals.js': 'return }' })
  using again = await startDev({}, { folder: dev.folder })
  // The version from the first start is still active, and its page shows the errors.
  expect(again.out()).toContain(`The page at ${again.url}/solution/shop/ shows these errors until you fix them:\n`)
  again.save('globals.js', '')
  await again.printed(new RegExp(`^Sign in as +dev, password ${password}\n`, 'm'))
  rmSync(again.folder, { recursive: true })
  expect(await again.ended).toBe(1)
  expect(again.err()).toBe(
    'The folder "." was removed, so "solhost dev" is stopping. Restore the folder, then run the command again.\n',
  )
})

test('dev: the number of processes, open files and stored versions does not grow with the number of saves', async () => {
  const dev = await devWith(devSolution('save 0'))
  const page = await openClient(dev.url, 'shop', createVisitor(dev.url))
  const save = async (number: number) => {
    dev.mark()
    dev.save('forms/main.json', devForm(`save ${number}`))
    await dev.printed(FOUND)
  }
  // After these saves, the host stores the maximum number of versions.
  for (let number = 1; number <= 6; number++) await save(number)
  const files = openFiles(dev.pid)
  const processes = childrenOf(dev.pid).length
  for (let number = 7; number <= 14; number++) await save(number)
  await shows(page, 'save 14')
  // The previous version's process exits only after its last client has closed.
  await waitUntil(
    () => {
      expect(childrenOf(dev.pid).length).toBeLessThanOrEqual(processes + 1)
      expect(openFiles(dev.pid)).toBeLessThanOrEqual(files + 6)
    },
    { timeout: 20_000, interval: 100 },
  )
  expect(storedVersions(dev.folder)).toBe(5)
  expect(readdirSync(dev.folder).sort()).toEqual(['.state', 'forms', 'solution.json'])
  page.close()
})

test('dev: without --inspect there is no debugger, and the output does not mention one', () => {
  expect(shared.out()).toContain('Press Ctrl+C to stop')
  expect(shared.out()).not.toContain('Debugger')
  expect(shared.out()).not.toContain('devtools:')
})

test('dev: Ctrl-C terminates it and all its processes', async () => {
  const dev = await devWith(devSolution('x'))
  const page = await openClient(dev.url, 'shop', createVisitor(dev.url))
  const children = childrenOf(dev.pid)
  expect(children.length).toBeGreaterThan(0)
  expect(await dev.stop()).toBe(0)
  // Killed processes take a moment to exit.
  const living = () => [dev.pid, ...children].filter((pid) => existsSync(`/proc/${pid}/exe`))
  await waitUntil(() => expect(living()).toEqual([]))
  page.close()
})
