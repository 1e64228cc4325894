import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import type { SandboxClient } from '../../runtime/supervisor.ts'
import { type ClientPage, openClient, openClientPage } from '../support/client-page.ts'
import { addClientSolution, button, label, linesOf, outputOf } from '../support/client-solution.ts'
import { startTestHost, type TestHost } from '../support/host.ts'
import { createVisitor } from '../support/http.ts'
import { createSharedSupervisor } from '../support/shared-checks.ts'
import { waitUntil } from '../support/wait-until.ts'

// Tests scripts that kill their client's process or isolate. Afterwards, each user's page must still work, or show what
// happened.

let host: TestHost
/** The memory limit is so low that scripts reach it before their time limit. */
let small: TestHost
/** How many of the next contexts on the small host end before the solution has opened, as if another client had ended them. */
let shortLived = 0
/** The number of calls that such a context completes before it ends. */
let completes = 0
beforeAll(async () => {
  host = await startTestHost({ CALL_TIME: '1s' })
  small = await startTestHost(
    { ISOLATE_MEMORY: '24m', CALL_TIME: '20s' },
    {
      createSupervisor(options) {
        const supervisor = createSharedSupervisor(options)
        return {
          ...supervisor,
          async openClient(...given) {
            const opened = await supervisor.openClient(...given)
            if (shortLived === 0 || 'code' in opened) return opened
            shortLived -= 1
            return endingAfter(completes, opened)
          },
        }
      },
    },
  )
})
function endingAfter(calls: number, client: SandboxClient): SandboxClient {
  let left = calls
  if (left === 0) client.close()
  return {
    ...client,
    async call(...given) {
      const outcome = await client.call(...given)
      left -= 1
      if (left === 0) client.close()
      return outcome
    },
  }
}
afterAll(async () => {
  await host.stop()
  await small.stop()
})

const SCRIPT = `
  let count = 0
  function up() { forms.main.elements.count.label = String(++count) }
  // A native loop: no time limit inside the process ends it.
  function hang() { Array.prototype.indexOf.call(new Proxy({ length: 9007199254740991 }, {}), 1) }
  function eat() { const all = []; for (;;) all.push(new Array(1000).fill(all.length)) }
`

const OPENING = "function onSolutionOpen(arg) { application.output('opened ' + arg) }"

async function addFragile(name: string, at = host, globals = OPENING): Promise<void> {
  await addClientSolution(at, name, {
    elements: [label('count'), ...['up', 'hang', 'eat'].map(button)],
    script: SCRIPT,
    globals,
  })
}

const pages: ClientPage[] = []
async function open(name: string, argument = 'x', at = host): Promise<ClientPage> {
  const page = await openClient(at.url, name, createVisitor(at.url), { query: `?argument=${argument}` })
  pages.push(page)
  return page
}
// If memory is short, the host ends a solution's process to start one for another solution. It would reopen the
// clients of open pages, and end the next test's process for them.
afterEach(() => {
  for (const page of pages.splice(0)) page.close()
})

const reopenings = (page: ClientPage) => page.frames.filter(({ kind }) => kind === 'reopened').length

/**
 * Counts the reopenings after which the page showed a form. If a context ends while it is opened, another reopening
 * follows. On a busy machine, this can happen to a context in a process that is about to end.
 */
function formsAfterReopening(page: ClientPage): number {
  const kinds = page.frames.map(({ kind }) => kind).filter((kind) => kind === 'reopened' || kind === 'form')
  return kinds.filter((kind, index) => kind === 'form' && kinds[index - 1] === 'reopened').length
}

/** Waits until the client has been reopened `times` times and shows its form again. */
async function untilReopened(page: ClientPage, times = 1): Promise<void> {
  await page.until(`${times} reopenings`, () => {
    return formsAfterReopening(page) === times && page.frames.at(-1)?.kind === 'idle'
  })
}

test('if a handler kills its process, all clients in the process are reopened, with a notice', async () => {
  await addFragile('hangs')
  const [culprit, other, away] = [await open('hangs', 'one'), await open('hangs', 'two'), await open('hangs', 'three')]
  for (const page of [other, away]) await page.press('main', 'up')
  const { client } = await away.frame('hello')
  away.drop()
  culprit.fire('main', 'hang', 'onAction')
  // Events that were queued when the crash happened are dropped, so the replacement client doesn't handle them.
  for (let press = 0; press < 5; press++) culprit.fire('main', 'up', 'onAction')
  await culprit.until('answer to the last', () => culprit.frames.some((one) => one.kind === 'idle' && one.seq === 6))
  await Promise.all([untilReopened(culprit), untilReopened(other)])
  const texts = culprit.frames.flatMap((frame) => (frame.kind === 'message' ? [frame.text] : []))
  expect(texts[0]).toMatch(/^That didn’t work\./)
  expect((await linesOf(host, 'hangs')).filter(({ code }) => code !== undefined)).toMatchObject([
    { code: 'script_timeout' },
  ])
  const opened = ['one', 'two', 'three'].map((name) => `opened ${name}`)
  expect((await outputOf(host, 'hangs')).toSorted()).toEqual([...opened, 'opened one', 'opened two'].toSorted())

  // A client whose browser was disconnected is reopened when that browser reconnects.
  const visitor = createVisitor(host.url)
  const again = await openClientPage(host.url, 'hangs', visitor, { client, page: away.page, seq: away.seq() })
  again.hello()
  await untilReopened(again)
  expect(await again.frame('hello')).toMatchObject({ client, isNew: false })
  for (const page of [culprit, other, again]) {
    expect(page.text('main', 'count')).toBe('0')
    await page.press('main', 'up')
    expect(page.text('main', 'count')).toBe('1')
  }
})

test('if a handler runs out of memory, all clients in the isolate are reopened; no press runs twice, and its user sees a message', async () => {
  await addClientSolution(small, 'eats', {
    elements: [label('count'), ...['up', 'eat', 'wait', 'write'].map(button)],
    script: `${SCRIPT}
      function wait() { application.output('waits'); return new Promise(() => {}) }
      async function write() { await plugins.http.fetch('https://example.org', { method: 'POST' }).catch(() => {}); return wait() }`,
  })
  const [culprit, idle, waiting, writing] = [
    await open('eats', 'one', small),
    await open('eats', 'two', small),
    await open('eats', 'three', small),
    await open('eats', 'four', small),
  ]
  waiting.fire('main', 'wait', 'onAction')
  writing.fire('main', 'write', 'onAction')
  await waitUntil(async () => expect(await outputOf(small, 'eats')).toEqual(['waits', 'waits']))
  // This press is queued behind the running event, and is lost with that event.
  waiting.fire('main', 'up', 'onAction')
  culprit.fire('main', 'eat', 'onAction')
  await Promise.all([culprit, idle, waiting, writing].map((page) => untilReopened(page)))
  expect((await linesOf(small, 'eats')).find(({ code }) => code !== undefined)).toMatchObject({
    code: 'script_memory',
    message: expect.stringContaining('limit ISOLATE_MEMORY'),
  })
  const messagesOf = (page: ClientPage) => page.frames.filter(({ kind }) => kind === 'message')
  expect(messagesOf(waiting)).toEqual([
    { kind: 'message', level: 'warning', text: 'Your last action wasn’t completed. Please try again.' },
  ])
  expect(messagesOf(writing)).toEqual([
    {
      ...{ kind: 'message', level: 'warning' },
      text: 'Your last action may not have been completed. Check before you try again.',
    },
  ])
  expect(messagesOf(idle)).toEqual([])
  expect(await outputOf(small, 'eats')).toHaveLength(2)
  expect(waiting.text('main', 'count')).toBe('0')
  for (const page of [culprit, idle]) {
    await page.press('main', 'up')
    expect(page.text('main', 'count')).toBe('1')
  }
})

test('a client is closed with a reason if its scripts crash it more than three times within a minute', async () => {
  await addFragile('again', small)
  const page = await open('again', 'x', small)
  for (let time = 1; time <= 3; time++) {
    page.fire('main', 'eat', 'onAction')
    await untilReopened(page, time)
  }
  page.fire('main', 'eat', 'onAction')
  expect([await page.closed(), (await page.frame('closed')).why]).toEqual([4410, 'gone'])
  expect(formsAfterReopening(page)).toBe(3)
})

test('a context that ends before the solution has opened in it does not count as a crash', async () => {
  await addFragile('innocent', small)
  const page = await open('innocent', 'x', small)
  for (let time = 1; time <= 3; time++) {
    if (time === 2) shortLived = 2
    page.fire('main', 'eat', 'onAction')
    await untilReopened(page, time)
  }
  await page.press('main', 'up')
  expect(page.text('main', 'count')).toBe('1')
  page.fire('main', 'eat', 'onAction')
  expect([await page.closed(), (await page.frame('closed')).why]).toEqual([4410, 'gone'])
  expect([formsAfterReopening(page), shortLived]).toEqual([3, 0])
  expect(reopenings(page)).toBeGreaterThanOrEqual(5)
})

test.each([
  ['before its first call', OPENING, 0],
  ['after onSolutionOpen', OPENING, 1],
  ['before it shows the form, without onSolutionOpen', '', 0],
  ['after it has shown the form, but before the browser has received it', OPENING, 2],
])('a context that ends %s is replaced, and does not count as a crash', async (_, globals, calls) => {
  const name = `early-${calls}${globals === '' ? '-plain' : ''}`
  await addFragile(name, small, globals)
  const page = await open(name, 'x', small)
  shortLived = 4
  completes = calls
  page.fire('main', 'eat', 'onAction')
  await untilReopened(page)
  completes = 0
  expect([reopenings(page), shortLived]).toEqual([5, 0])
  await page.press('main', 'up')
  expect(page.text('main', 'count')).toBe('1')
})

test('a client is closed with a reason if ten contexts within a minute end before the solution has opened in them', async () => {
  await addFragile('never', small)
  const page = await open('never', 'x', small)
  shortLived = 11
  page.fire('main', 'eat', 'onAction')
  expect([await page.closed(), (await page.frame('closed')).why]).toEqual([4410, 'gone'])
  expect([reopenings(page), shortLived]).toEqual([10, 1])
  shortLived = 0
})

test('a solution whose processes were killed three times is paused, and its clients close without suggesting to retry soon', async () => {
  await addFragile('pauses')
  const page = await open('pauses')
  for (let time = 1; time <= 2; time++) {
    page.fire('main', 'hang', 'onAction')
    await untilReopened(page, time)
  }
  page.fire('main', 'hang', 'onAction')
  expect([await page.closed(), (await page.frame('closed')).why]).toEqual([4500, 'failed'])
  expect((await page.frame('message')).text).toMatch(/^This page could not be opened. Give the reference \S+ when/)
})
