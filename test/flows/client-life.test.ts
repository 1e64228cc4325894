import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ClientPage, type ClientPageOptions, openClient, openClientPage } from '../support/client-page.ts'
import { addClientSolution, button, label, linesOf, outputOf } from '../support/client-solution.ts'
import { startTestHost, type TestHost } from '../support/host.ts'
import { createVisitor, type Visitor } from '../support/http.ts'
import { addUser, askAdmin, visit } from '../support/users.ts'

// Tests the lifetime and ownership of clients: what happens if the browser disconnects, the version changes or the host
// stops.

let host: TestHost
/** A host that allows few clients and closes clients soon after their browser disconnects. */
let hasty: TestHost
beforeAll(async () => {
  host = await startTestHost({ CALL_TIME: '10s' })
  hasty = await startTestHost({ CLIENT_GRACE: '200ms', CLIENTS: '3', CLIENTS_SESSION: '2', CLIENTS_ADDRESS: '2' })
  for (const one of [host, hasty]) for (const user of ['anna', 'bert']) await addUser(one, user)
  for (const one of [host, hasty]) await addCounter(one, 'counter')
})
afterAll(async () => {
  await host.stop()
  await hasty.stop()
})

/** Every line that a client logs begins with a name chosen by the test, so the test can find the line. */
const GLOBALS = `
  let name
  function tell(what) { application.output(name + ' ' + what) }
  function onSolutionOpen(argument) { name = argument; tell('opened') }
  function onSolutionClose() { tell('closed') }
`
const SCRIPT = `
  let count = 0
  function up() { count++; show(count) }
  function show(text) { forms.main.elements.count.label = String(text) }
  function slow() {
    tell('pressed')
    const end = Date.now() + 600
    while (Date.now() < end);
    up()
  }
  function later() { application.executeLater(ran, 1500, ['ran']) }
  function ran(text) { tell(text); show(text) }
  function cancelled() {
    const ids = [application.executeLater(ran, 20, ['cancelled']), application.executeLater(ran, 20, ['ran'])]
    show(application.cancelLater(ids[0]))
  }
  function queued(before, after) { const end = Date.now() + 5; while (Date.now() < end); order.push(after); show(order.join()) }
  const order = []
  function onUnload() { tell('unloaded') }
`
const ELEMENTS = [
  label('count'),
  button('up'),
  button('slow'),
  button('later'),
  button('cancelled'),
  { type: 'text', name: 'queue', label: 'Queue', onElementDataChange: 'queued' },
]

function addCounter(at: TestHost, name: string, manifest: Record<string, unknown> = {}): Promise<void> {
  return addClientSolution(at, name, { elements: ELEMENTS, script: SCRIPT, globals: GLOBALS, manifest })
}

/** A simulated browser with the counter's page open. */
async function browse(at = host): Promise<Visitor> {
  const visitor = createVisitor(at.url)
  await visitor.get('/solution/counter/index.html')
  return visitor
}

/** @param name the client's name, which prefixes its output */
const open = (name: string, visitor: Visitor, options: ClientPageOptions = {}, at = host) =>
  openClient(at.url, 'counter', visitor, { query: `?argument=${name}`, ...options })

/** Lines logged by the clients with this name. */
async function outputOfClient(name: string, at = host): Promise<readonly string[]> {
  const lines = await outputOf(at, 'counter')
  return lines.filter((line) => line.startsWith(`${name} `)).map((line) => line.slice(name.length + 1))
}

const idOf = async (page: ClientPage) => (await page.frame('hello')).client

/** Opens a page that asks to resume an existing client. @returns the page, once it shows a form */
async function reopen(at: TestHost, name: string, visitor: Visitor, client: string, options: ClientPageOptions = {}) {
  const again = await openClientPage(at.url, name, visitor, { client, ...options })
  again.hello()
  await again.frame('form')
  return again
}

test('client: a reload gets the same client unchanged, and its sequence numbers start at 1 again', async () => {
  const visitor = await browse()
  const first = await open('reload', visitor)
  await first.press('main', 'up')
  await first.press('main', 'up')
  const client = await idOf(first)
  first.close()
  const second = await reopen(host, 'counter', visitor, client)
  expect(await second.frame('hello')).toEqual({ kind: 'hello', client, seq: 0, isNew: false })
  expect(second.text('main', 'count')).toBe('2')
  await second.press('main', 'up')
  expect([second.seq(), second.text('main', 'count')]).toEqual([1, '3'])
  expect(await outputOfClient('reload')).toEqual(['opened'])
})

test('client: a press whose response was lost with the connection runs once, even if the page sends it again', async () => {
  const visitor = await browse()
  const first = await open('lost', visitor)
  const seq = first.fire('main', 'slow', 'onAction')
  await expect.poll(() => outputOfClient('lost')).toContain('pressed')
  first.drop()
  const again = await reopen(host, 'counter', visitor, await idOf(first), { page: first.page })
  again.send({ kind: 'event', seq, form: 'main', element: 'slow', type: 'onAction', value: null })
  await again.until('end of the press', () => again.frames.some((one) => one.kind === 'idle' && one.seq === seq))
  expect(again.text('main', 'count')).toBe('1')
  expect(await outputOfClient('lost')).toEqual(['opened', 'pressed'])
})

test('client: after a reload during a call, the events of the reloaded page are handled', async () => {
  const visitor = await browse()
  const first = await open('during', visitor)
  for (let presses = 0; presses < 3; presses++) await first.press('main', 'up')
  first.fire('main', 'slow', 'onAction')
  await expect.poll(() => outputOfClient('during')).toContain('pressed')
  first.close()
  const again = await reopen(host, 'counter', visitor, await idOf(first))
  await again.until('end of the call', () => again.text('main', 'count') === '4')
  await again.press('main', 'up')
  expect([again.seq(), again.text('main', 'count')]).toEqual([1, '5'])
})

test('client: when the grace period ends, its forms are unloaded, it is closed, and its id opens a new client', async () => {
  const visitor = await browse(hasty)
  const page = await open('grace', visitor, {}, hasty)
  await page.press('main', 'up')
  page.close()
  await expect.poll(() => outputOfClient('grace', hasty)).toEqual(['opened', 'unloaded', 'closed'])
  const client = await idOf(page)
  const again = await reopen(hasty, 'counter', visitor, client, { query: '?argument=new' })
  const hello = await again.frame('hello')
  expect([hello.isNew, hello.client === client, again.text('main', 'count')]).toEqual([true, false, '0'])
})

test('client: a copied tab gets a separate client, and the original one continues', async () => {
  const visitor = await browse()
  const first = await open('copied', visitor)
  await first.press('main', 'up')
  const client = await idOf(first)
  const copy = await reopen(host, 'counter', visitor, client)
  expect(await idOf(copy)).not.toBe(client)
  // The original client still exists, so the copy shows no message.
  expect((await copy.frame('hello')).isNew).toBe(false)
  await copy.press('main', 'up')
  await first.press('main', 'up')
  expect([first.text('main', 'count'), copy.text('main', 'count')]).toEqual(['2', '1'])
})

test('client: a reload takes over the client from a connection that looks open but does not respond', async () => {
  const visitor = await browse()
  const first = await open('silent', visitor, { answersPings: false })
  await first.press('main', 'up')
  const again = await reopen(host, 'counter', visitor, await idOf(first))
  expect([await idOf(again), again.text('main', 'count')]).toEqual([await idOf(first), '1'])
  expect([await first.closed(), (await first.frame('closed')).why]).toEqual([4409, 'elsewhere'])
})

test('client: an unknown id opens a new client', async () => {
  const visitor = await browse()
  const page = await reopen(host, 'counter', visitor, 'A'.repeat(43))
  const hello = await page.frame('hello')
  expect([hello.isNew, hello.client === 'A'.repeat(43)]).toEqual([true, false])
})

test('client: 200 events sent together are handled in order, and other users are served in the meantime', async () => {
  const visitor = await browse()
  const busy = await open('many', visitor)
  const other = await open('other', createVisitor(host.url))
  const values = Array.from({ length: 200 }, (_, index) => String(index))
  for (const value of values) busy.fire('main', 'queue', 'onElementDataChange', value)
  const isDone = () => busy.frames.some((one) => one.kind === 'idle' && one.seq === values.length)
  await other.press('main', 'up')
  expect([other.text('main', 'count'), isDone()]).toEqual(['1', false])
  await busy.until('last answer', isDone)
  expect(busy.text('main', 'count')).toBe(values.join())
})

test('executeLater: changes are pushed to the page, even if it was disconnected in the meantime', async () => {
  const visitor = await browse()
  const page = await open('later', visitor)
  await page.press('main', 'later')
  expect(page.text('main', 'count')).toBe('0')
  await page.until('patch', () => page.text('main', 'count') === 'ran')
  const from = page.frames.findLastIndex(({ kind }) => kind === 'patch')
  await page.until('end', () => page.frames.slice(from).some(({ kind }) => kind === 'idle'))
  expect(page.frames.slice(from - 1, from + 2).map(({ kind }) => kind)).toEqual(['busy', 'patch', 'idle'])

  await page.press('main', 'up')
  await page.press('main', 'later')
  page.drop()
  await expect.poll(() => outputOfClient('later')).toEqual(['opened', 'ran', 'ran'])
  const again = await reopen(host, 'counter', visitor, await idOf(page))
  expect(again.text('main', 'count')).toBe('ran')
})

test('executeLater: a cancelled function does not run', async () => {
  const visitor = await browse()
  const page = await open('cancelled', visitor)
  await page.press('main', 'cancelled')
  // Both functions were scheduled for the same time, so the cancelled function would have run by now.
  await page.until('other one', () => page.text('main', 'count') === 'ran')
  await page.press('main', 'up')
  expect(await outputOfClient('cancelled')).toEqual(['opened', 'ran'])
})

test('executeLater: a closed client’s function does not run', async () => {
  const visitor = await browse(hasty)
  const first = await open('over', visitor, {}, hasty)
  await first.press('main', 'later')
  first.drop()
  await expect.poll(() => outputOfClient('over', hasty)).toContain('closed')
  const second = await open('over', visitor, {}, hasty)
  await second.press('main', 'later')
  await second.until('its own', () => second.text('main', 'count') === 'ran')
  // If the first client's function had run, its output would appear before this.
  expect(await outputOfClient('over', hasty)).toEqual(['opened', 'unloaded', 'closed', 'opened', 'ran'])
})

test.each([
  ['CLIENTS', 3, { authenticator: 'DEFAULT' }, ['anna', 'anna', 'bert', 'bert']],
  ['CLIENTS_SESSION', 2, { authenticator: 'DEFAULT' }, ['anna', 'anna', 'anna']],
  ['CLIENTS_ADDRESS', 2, {}, ['nobody', 'nobody', 'nobody']],
])(
  '%s=%i: a client over the limit is rejected with a reason, and the solution log says which limit',
  async (limit, count, manifest, users) => {
    const name = limit.toLowerCase().replace('_', '-')
    await addCounter(hasty, name, manifest)
    const visitors = new Map<string, Awaited<ReturnType<typeof visit>>>()
    for (const user of new Set(users)) {
      const visitor = await visit(hasty, name)
      if (user !== 'nobody') await visitor.signIn(user)
      visitors.set(user, visitor)
    }
    const pages: ClientPage[] = []
    for (const user of users) {
      const page = await openClientPage(hasty.url, name, visitors.get(user) as Visitor)
      page.hello()
      await page.until('form or end', () => page.frames.some(({ kind }) => kind === 'idle' || kind === 'closed'))
      pages.push(page)
    }
    expect(pages).toHaveLength(count + 1)
    const [first, refused] = [pages[0] as ClientPage, pages[count] as ClientPage]
    expect([await refused.closed(), refused.frames]).toEqual([1013, [{ kind: 'closed', why: 'failed' }]])
    expect((await linesOf(hasty, name)).at(-1)).toMatchObject({
      level: 'warn',
      code: 'sandbox_busy',
      message: expect.stringMatching(new RegExp(`\\b${limit}\\b`)),
    })
    await first.press('main', 'up')
    expect(first.text('main', 'count')).toBe('1')
  },
)

test('client: when the host stops, it closes connections with 1001 within 4 s, and closes clients that finish in time', async () => {
  const home = mkdtempSync(join(tmpdir(), 'solhost-test-'))
  const own = await startTestHost({ CALL_TIME: '30s' }, { home })
  const visitor = createVisitor(own.url)
  await addCounter(own, 'stops')
  await addClientSolution(own, 'hangs', {
    elements: [button('hang')],
    script: "function hang() { application.output('hangs'); for (;;); }",
  })
  const pages = [
    await openClient(own.url, 'stops', visitor, { query: '?argument=it' }),
    await openClient(own.url, 'hangs', visitor),
  ]
  pages[1]?.fire('main', 'hang', 'onAction')
  await expect.poll(() => outputOf(own, 'hangs')).toEqual(['hangs'])
  const before = performance.now()
  await own.stop()
  expect(performance.now() - before).toBeLessThan(4000)
  expect(await Promise.all(pages.map((page) => page.closed()))).toEqual([1001, 1001])
  const again = await startTestHost({}, { home })
  expect(await outputOf(again, 'stops')).toEqual(['it opened', 'it unloaded', 'it closed'])
  await again.stop()
  rmSync(home, { recursive: true, force: true })
})

test('client: a missing message key is logged only once, however often clients look it up', async () => {
  await addClientSolution(host, 'keys', {
    elements: [label('text', 'i18n:nowhere'), button('look')],
    script: `function look() { forms.main.elements.text.label = i18n.getI18NMessage('nowhere') + i18n.getI18NMessage('gone') }`,
  })
  for (let client = 0; client < 3; client++) {
    const page = await openClient(host.url, 'keys', createVisitor(host.url))
    expect(page.text('main', 'text')).toBe('!nowhere!')
    for (let press = 0; press < 3; press++) await page.press('main', 'look')
    expect(page.text('main', 'text')).toBe('!nowhere!!gone!')
  }
  const missing = (await linesOf(host, 'keys')).filter(({ message }) => message.startsWith('i18n:'))
  expect(missing.map(({ level, message }) => [level, message])).toEqual([
    ['warn', 'i18n: no text table contains the key "nowhere" (locale en)'],
    ['warn', 'i18n: no text table contains the key "gone" (locale en)'],
  ])
})

test('client: an open client keeps its version; a new client, and one reopened after a crash, get the new version', async () => {
  const upload = (version: string) =>
    addClientSolution(host, 'versions', {
      elements: [label('count'), button('tell')],
      script: `function tell() { forms.main.elements.count.label = application.getSolutionVersion() }
        function onShow() { tell() }`,
      manifest: { version },
    })
  const serving = () => host.processes().flatMap(({ pid, key }) => (key === null ? [] : [pid]))
  await upload('1.0.0')
  const visitor = createVisitor(host.url)
  const others = serving()
  const old = await openClient(host.url, 'versions', visitor)
  const [process1 = 0] = serving().filter((pid) => !others.includes(pid))
  await upload('2.0.0')
  const fresh = await openClient(host.url, 'versions', visitor)
  await old.press('main', 'tell')
  expect([old.text('main', 'count'), fresh.text('main', 'count')]).toEqual(['1.0.0', '2.0.0'])
  old.close()
  const reloaded = await reopen(host, 'versions', visitor, await idOf(old))
  await reloaded.press('main', 'tell')
  expect(reloaded.text('main', 'count')).toBe('1.0.0')
  process.kill(process1, 'SIGKILL')
  await reloaded.frame('reopened')
  await reloaded.until('new version', () => reloaded.text('main', 'count') === '2.0.0')
})

test('client: during maintenance, signed-in users’ clients keep running, and they can open more', async () => {
  await addCounter(host, 'kept', { authenticator: 'DEFAULT' })
  const anna = await visit(host, 'kept')
  await anna.signIn('anna')
  const page = await openClient(host.url, 'kept', anna)
  await askAdmin(host, 'PUT', 'maintenance', { on: true })
  try {
    await page.press('main', 'up')
    expect(page.text('main', 'count')).toBe('1')
    expect((await visit(host, 'kept').then(({ open }) => open())).status).toBe(503)
    expect((await anna.open()).status).toBe(200)
    const next = await openClient(host.url, 'kept', anna)
    await next.press('main', 'up')
    expect(next.text('main', 'count')).toBe('1')
  } finally {
    await askAdmin(host, 'PUT', 'maintenance', { on: false })
  }
})
