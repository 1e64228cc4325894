import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ClientPage, openClient, openClientPage } from '../support/client-page.ts'
import { addClientSolution, button, label, linesOf, outputOf } from '../support/client-solution.ts'
import { startTestHost, type TestHost } from '../support/host.ts'
import { createVisitor, type Visitor } from '../support/http.ts'
import { addUser, askAdmin, visit } from '../support/users.ts'

// How long a client lives, whose it is, and what becomes of it when its browser, its version or its host goes.

let host: TestHost
/** Whose clients are over soon after their browser is. */
let hasty: TestHost
beforeAll(async () => {
  host = await startTestHost({ CALL_TIME: '10s' })
  hasty = await startTestHost({ CLIENT_GRACE: '200ms' })
  for (const one of [host, hasty]) await addUser(one, 'anna')
})
afterAll(async () => {
  await host.stop()
  await hasty.stop()
})

const GLOBALS = `
  function onSolutionOpen() { application.output('opened') }
  function onSolutionClose() { application.output('closed') }
`
const SCRIPT = `
  let count = 0
  function up() { count++; show(count) }
  function show(text) { forms.main.elements.count.label = String(text) }
  function slow() {
    application.output('pressed')
    const end = Date.now() + 600
    while (Date.now() < end);
    up()
  }
  function later() { application.executeLater(ran, 1500, ['ran']) }
  function ran(text) { application.output(text); show(text) }
  function cancelled() {
    const ids = [application.executeLater(ran, 20, ['cancelled']), application.executeLater(ran, 20, ['ran'])]
    show(application.cancelLater(ids[0]))
  }
  function queued(before, after) { const end = Date.now() + 5; while (Date.now() < end); order.push(after); show(order.join()) }
  const order = []
  function onUnload() { application.output('unloaded') }
`
const ELEMENTS = [
  label('count'),
  button('up'),
  button('slow'),
  button('later'),
  button('cancelled'),
  { type: 'text', name: 'queue', label: 'Queue', onElementDataChange: 'queued' },
]

async function addCounter(at: TestHost, name: string, manifest: Record<string, unknown> = {}): Promise<Visitor> {
  await addClientSolution(at, name, { elements: ELEMENTS, script: SCRIPT, globals: GLOBALS, manifest })
  const visitor = createVisitor(at.url)
  await visitor.get(`/solution/${name}/index.html`)
  return visitor
}

const idOf = async (page: ClientPage) => (await page.frame('hello')).client

/** A page that names a client. @returns it once it has a form */
async function comeBack(at: TestHost, name: string, visitor: Visitor, client: string, page?: string) {
  const again = await openClientPage(at.url, name, visitor, { client, ...(page === undefined ? {} : { page }) })
  again.hello()
  await again.frame('form')
  return again
}

test('client: a reload, with a new page’s name, gets the same client as it was, and numbers begin at 1 again', async () => {
  const visitor = await addCounter(host, 'reload')
  const first = await openClient(host.url, 'reload', visitor)
  await first.press('main', 'up')
  await first.press('main', 'up')
  const client = await idOf(first)
  first.close()
  const second = await comeBack(host, 'reload', visitor, client)
  expect(await second.frame('hello')).toEqual({ kind: 'hello', client, seq: 0, isNew: false })
  expect(second.text('main', 'count')).toBe('2')
  await second.press('main', 'up')
  expect([second.seq(), second.text('main', 'count')]).toEqual([1, '3'])
  expect(await outputOf(host, 'reload')).toEqual(['opened'])
})

test('client: a press whose answer was lost with the line is done once, also where the page sends it again', async () => {
  const visitor = await addCounter(host, 'lost')
  const first = await openClient(host.url, 'lost', visitor)
  const seq = first.fire('main', 'slow', 'onAction')
  await expect.poll(() => outputOf(host, 'lost')).toContain('pressed')
  first.drop()
  const again = await comeBack(host, 'lost', visitor, await idOf(first), first.page)
  again.send({ kind: 'event', seq, form: 'main', element: 'slow', type: 'onAction', value: null })
  await again.until('end of the press', () => again.frames.some((one) => one.kind === 'idle' && one.seq === seq))
  expect(again.text('main', 'count')).toBe('1')
  expect(await outputOf(host, 'lost')).toEqual(['opened', 'pressed'])
})

test('client: when its grace is over its forms are unloaded, then it is closed, and its id opens a new one', async () => {
  const visitor = await addCounter(hasty, 'grace')
  const page = await openClient(hasty.url, 'grace', visitor)
  await page.press('main', 'up')
  page.close()
  await expect.poll(() => outputOf(hasty, 'grace')).toEqual(['opened', 'unloaded', 'closed'])
  const client = await idOf(page)
  const again = await comeBack(hasty, 'grace', visitor, client)
  const hello = await again.frame('hello')
  expect([hello.isNew, hello.client === client, again.text('main', 'count')]).toEqual([true, false, '0'])
})

test('client: a copied tab gets a client of its own, and the first goes on', async () => {
  const visitor = await addCounter(host, 'copied')
  const first = await openClient(host.url, 'copied', visitor)
  await first.press('main', 'up')
  const client = await idOf(first)
  const copy = await comeBack(host, 'copied', visitor, client)
  expect(await idOf(copy)).not.toBe(client)
  // Nothing of the original is lost, so the copy has nothing to say.
  expect((await copy.frame('hello')).isNew).toBe(false)
  await copy.press('main', 'up')
  await first.press('main', 'up')
  expect([first.text('main', 'count'), copy.text('main', 'count')]).toEqual(['2', '1'])
})

test('client: a reload takes the client from a line that looks open and on which nobody answers', async () => {
  const visitor = await addCounter(host, 'silent')
  const first = await openClient(host.url, 'silent', visitor, { answersPings: false })
  await first.press('main', 'up')
  const again = await comeBack(host, 'silent', visitor, await idOf(first))
  expect([await idOf(again), again.text('main', 'count')]).toEqual([await idOf(first), '1'])
  expect([await first.closed(), (await first.frame('closed')).why]).toEqual([4409, 'elsewhere'])
})

test('client: an id of nobody opens a new client', async () => {
  const visitor = await addCounter(host, 'nobodys')
  const page = await comeBack(host, 'nobodys', visitor, 'A'.repeat(43))
  const hello = await page.frame('hello')
  expect([hello.isNew, hello.client === 'A'.repeat(43)]).toEqual([true, false])
})

test('client: two hundred events sent at once are handled in order, and another user is answered meanwhile', async () => {
  const visitor = await addCounter(host, 'many')
  const busy = await openClient(host.url, 'many', visitor)
  const other = await openClient(host.url, 'many', createVisitor(host.url))
  const values = Array.from({ length: 200 }, (_, index) => String(index))
  for (const value of values) busy.fire('main', 'queue', 'onElementDataChange', value)
  const isDone = () => busy.frames.some((one) => one.kind === 'idle' && one.seq === values.length)
  await other.press('main', 'up')
  expect([other.text('main', 'count'), isDone()]).toEqual(['1', false])
  await busy.until('last answer', isDone)
  expect(busy.text('main', 'count')).toBe(values.join())
})

test('executeLater: what it changes comes by itself, also to a page that was away meanwhile', async () => {
  const visitor = await addCounter(host, 'later')
  const page = await openClient(host.url, 'later', visitor)
  await page.press('main', 'later')
  expect(page.text('main', 'count')).toBe('0')
  await page.until('patch', () => page.text('main', 'count') === 'ran')
  const from = page.frames.findLastIndex(({ kind }) => kind === 'patch')
  await page.until('end', () => page.frames.slice(from).some(({ kind }) => kind === 'idle'))
  expect(page.frames.slice(from - 1, from + 2).map(({ kind }) => kind)).toEqual(['busy', 'patch', 'idle'])

  await page.press('main', 'up')
  await page.press('main', 'later')
  page.drop()
  await expect.poll(() => outputOf(host, 'later')).toEqual(['opened', 'ran', 'ran'])
  const again = await comeBack(host, 'later', visitor, await idOf(page))
  expect(again.text('main', 'count')).toBe('ran')
})

test('executeLater: a function that was cancelled does not run', async () => {
  const visitor = await addCounter(host, 'cancelled')
  const page = await openClient(host.url, 'cancelled', visitor)
  await page.press('main', 'cancelled')
  // Both had the same time.
  await page.until('other one', () => page.text('main', 'count') === 'ran')
  await page.press('main', 'up')
  expect(await outputOf(host, 'cancelled')).toEqual(['opened', 'ran'])
})

test('executeLater: a function of a client that is over does not run', async () => {
  const visitor = await addCounter(hasty, 'over')
  const first = await openClient(hasty.url, 'over', visitor)
  await first.press('main', 'later')
  first.drop()
  await expect.poll(() => outputOf(hasty, 'over')).toContain('closed')
  const second = await openClient(hasty.url, 'over', visitor)
  await second.press('main', 'later')
  await second.until('its own', () => second.text('main', 'count') === 'ran')
  // Asked for earlier, it would have come before.
  expect(await outputOf(hasty, 'over')).toEqual(['opened', 'unloaded', 'closed', 'opened', 'ran'])
})

test.each([
  ['CLIENTS', { authenticator: 'DEFAULT' }],
  ['CLIENTS_SESSION', { authenticator: 'DEFAULT' }],
  ['CLIENTS_ADDRESS', {}],
])(
  '%s=2: the third client is refused with a reason, and the solution’s log names the limit',
  async (limit, manifest) => {
    const own = await startTestHost({ [limit]: '2' })
    try {
      await addUser(own, 'anna')
      await addCounter(own, 'limited', manifest)
      const visitor = await visit(own, 'limited')
      await visitor.signIn('anna')
      const first = await openClient(own.url, 'limited', visitor)
      await openClient(own.url, 'limited', visitor)
      const third = await openClientPage(own.url, 'limited', visitor)
      third.hello()
      expect([await third.closed(), third.frames]).toEqual([1013, [{ kind: 'closed', why: 'failed' }]])
      expect((await linesOf(own, 'limited')).at(-1)).toMatchObject({
        level: 'warn',
        code: 'sandbox_busy',
        message: expect.stringMatching(new RegExp(`\\b${limit}\\b`)),
      })
      await first.press('main', 'up')
      expect(first.text('main', 'count')).toBe('1')
    } finally {
      await own.stop()
    }
  },
)

test('client: a stopping host ends connections with 1001 within 4 s, and lets those close that do so in time', async () => {
  const home = mkdtempSync(join(tmpdir(), 'solhost-test-'))
  const own = await startTestHost({ CALL_TIME: '30s' }, { home })
  const visitor = await addCounter(own, 'stops')
  await addClientSolution(own, 'hangs', {
    elements: [button('hang')],
    script: "function hang() { application.output('hangs'); for (;;); }",
  })
  const pages = [await openClient(own.url, 'stops', visitor), await openClient(own.url, 'hangs', visitor)]
  pages[1]?.fire('main', 'hang', 'onAction')
  await expect.poll(() => outputOf(own, 'hangs')).toEqual(['hangs'])
  const before = performance.now()
  await own.stop()
  expect(performance.now() - before).toBeLessThan(4000)
  expect(await Promise.all(pages.map((page) => page.closed()))).toEqual([1001, 1001])
  const again = await startTestHost({}, { home })
  expect(await outputOf(again, 'stops')).toEqual(['opened', 'unloaded', 'closed'])
  await again.stop()
  rmSync(home, { recursive: true, force: true })
})

test('client: a key that no table has is one line of the log, however many clients look it up, and how often', async () => {
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
    ['warn', 'i18n: no table has the key "nowhere" (looked for in en)'],
    ['warn', 'i18n: no table has the key "gone" (looked for in en)'],
  ])
})

test('client: one that is open goes on with its version, a new one has the new version, and so has one that crashed', async () => {
  const own = await startTestHost({ CALL_TIME: '2s' })
  const upload = (version: string) =>
    addClientSolution(own, 'versions', {
      elements: [label('count'), button('tell'), button('hang')],
      script: `function tell() { forms.main.elements.count.label = application.getSolutionVersion() }
        function onShow() { tell() }
        function hang() { Array.prototype.indexOf.call(new Proxy({ length: 9007199254740991 }, {}), 1) }`,
      manifest: { version },
    })
  await upload('1.0.0')
  const visitor = createVisitor(own.url)
  const old = await openClient(own.url, 'versions', visitor)
  await upload('2.0.0')
  const fresh = await openClient(own.url, 'versions', visitor)
  await old.press('main', 'tell')
  expect([old.text('main', 'count'), fresh.text('main', 'count')]).toEqual(['1.0.0', '2.0.0'])
  old.close()
  const reloaded = await comeBack(own, 'versions', visitor, await idOf(old))
  await reloaded.press('main', 'tell')
  expect(reloaded.text('main', 'count')).toBe('1.0.0')
  reloaded.fire('main', 'hang', 'onAction')
  await reloaded.frame('reopened')
  await reloaded.until('new version', () => reloaded.text('main', 'count') === '2.0.0')
  await own.stop()
})

test('client: in maintenance those of signed-in users go on, and further ones open', async () => {
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
