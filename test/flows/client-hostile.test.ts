import { once } from 'node:events'
import { connect as connectTcp } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { MAX_VALUE } from '../../host/web/frames.ts'
import { type ClientPage, openClient, openClientPage } from '../support/client-page.ts'
import { formWith } from '../support/forms.ts'
import { startTestHost, type TestHost } from '../support/host.ts'
import { createVisitor, type Visitor } from '../support/http.ts'
import { addDefaultSolution, addUser, askAdmin, visit } from '../support/users.ts'
import { waitUntil } from '../support/wait-until.ts'

// A browser sends frames that no page would send. The host, the solution and other users must not be affected.

const SHOP = formWith(
  { type: 'label', name: 'done', label: 'nothing' },
  { type: 'text', name: 'note', label: 'Note', onElementDataChange: 'changed' },
  { type: 'number', name: 'amount', label: 'Amount', min: 1, max: 10, onElementDataChange: 'changed' },
  { type: 'checkbox', name: 'fast', label: 'Fast', onElementDataChange: 'changed' },
  {
    type: 'select',
    name: 'country',
    label: 'Country',
    options: [{ value: 'be', label: 'Belgium' }],
    onElementDataChange: 'changed',
  },
  {
    type: 'table',
    name: 'orders',
    columns: [
      { name: 'nr', type: 'number', sortable: true },
      { name: 'plain', sortable: false },
    ],
    pageSize: 10,
    selection: 'single',
    value: Array.from({ length: 25 }, (_, index) => ({ id: index + 1, nr: index })),
    onAction: 'opened',
    onSort: 'sorted',
    onRecordSelection: 'selected',
  },
  { type: 'button', name: 'ok', label: 'OK', onAction: 'pressed' },
  { type: 'button', name: 'off', label: 'Off', enabled: false, onAction: 'pressed' },
  { type: 'button', name: 'hidden', label: 'Hidden', visible: false, onAction: 'pressed' },
  { type: 'button', name: 'boss', label: 'Boss', permission: 'Managers', onAction: 'pressed' },
  { type: 'button', name: 'large', label: 'Large', onAction: 'large' },
  { type: 'button', name: 'other', label: 'Other', onAction: 'other' },
)
const FILES = {
  'forms/main.json': JSON.stringify(SHOP),
  'forms/main.js': `
    let count = 0
    function say(what) { forms.main.elements.done.label = what + ' ' + ++count }
    function pressed(event) { say('pressed ' + event.elementName) }
    function changed(before, after, event) { say('changed ' + event.elementName); return true }
    function opened() { say('opened') }
    function sorted() { say('sorted') }
    function selected() { say('selected') }
    function onResize() { say('resized') }
    function other() { application.showForm('second') }
    function large() {
      forms.main.elements.orders.rows = Array.from({ length: 10 }, (_, id) => ({ id, nr: ++count, plain: 'x'.repeat(9000) }))
    }
  `,
  'forms/second.json': JSON.stringify(formWith({ type: 'button', name: 'back', label: 'Back', onAction: 'back' })),
  'forms/second.js': 'function back() { application.showForm("main") }',
  'forms/never.json': JSON.stringify(formWith({ type: 'button', name: 'go', label: 'Go', onAction: 'go' })),
  'forms/never.js': "function go() { forms.main.elements.done.label = 'never' } function onResize() { go() }",
}
const PROTOTYPE_NAMES = ['__proto__', 'constructor', 'toString']
/** Comparing this object with a number throws a TypeError. */
const UNCOMPARABLE = { toString: 1, valueOf: 1 }

let host: TestHost
/** Most tests share this solution, which has no sign-in. */
let shop: string
/** Like `shop`, but requires a sign-in from the users table. */
let office: string
let solutions = 0
/** Each test uses a different client network, because rejections are logged only once a minute per network. */
let network: Record<string, string>
let networks = 0
/** The number of lines about rejected frames that previous tests added to the shop's log. */
let before: number

beforeAll(async () => {
  host = await startTestHost({ TRUSTED_PROXIES: '127.0.0.1' })
  await addUser(host, 'anna')
  await addUser(host, 'bert')
  shop = await addShop()
  office = await addShop({ authenticator: 'DEFAULT' })
})
beforeEach(async () => {
  network = { 'x-forwarded-for': `10.0.0.${++networks}` }
  before = (await allRefusals(shop)).length
})
afterAll(() => host.stop())

async function addShop(manifest: Record<string, unknown> = {}, at = host): Promise<string> {
  const name = `shop-${++solutions}`
  await addDefaultSolution(at, name, { authenticator: 'NONE', firstForm: 'main', ...manifest }, FILES)
  return name
}

/** A simulated browser with the page's cookies. */
async function browse(name: string, at = host, headers = network) {
  const visitor = createVisitor(at.url, headers)
  expect((await visitor.get(`/solution/${name}/index.html`)).status).toBe(200)
  return visitor
}

const open = async (name = shop) => openClient(host.url, name, await browse(name))

/** Opens the page again for an existing client, as a reload does. */
async function rejoin(name: string, visitor: Visitor, client: string): Promise<ClientPage> {
  const page = await openClientPage(host.url, name, visitor, { client })
  page.hello()
  await page.frame('form')
  return page
}

/** @returns log lines about rejected frames */
async function allRefusals(name: string): Promise<string[]> {
  const { items } = await askAdmin(host, 'GET', `solutions/${name}/log?limit=1000`)
  const messages = (items as { message: string }[]).map(({ message }) => message)
  return messages.filter((message) => message.startsWith('the host rejected invalid WebSocket frames'))
}

/** Skips the lines of previous tests. */
const refusals = async (name = shop) => (await allRefusals(name)).slice(name === shop ? before : 0)

const line = (frames: number) =>
  `the host rejected invalid WebSocket frames (${frames}) from a browser. The solution’s own pages never send such frames. A browser that sends more of them is disconnected`

async function audited(name = shop): Promise<unknown[]> {
  const { items } = await askAdmin(host, 'GET', `audit?limit=1000&action=client&solution=${name}`)
  return (items as { address: string; outcome: string; actor: string }[])
    .filter(({ address }) => address === network['x-forwarded-for'])
    .map(({ actor, outcome }) => `${actor} ${outcome}`)
}

const event = (element: string, type: string, value: unknown = null, form = 'main') => ({
  kind: 'event',
  form,
  element,
  type,
  value,
})
const sort = (column: string) => ({ column, direction: 'ascending' })

/** Sends a frame, valid or not, with the page's next number. Waits until the host has processed it. */
async function forge(page: ClientPage, seq: number, frame: object): Promise<void> {
  page.send({ ...frame, seq })
  // Waits for the response to the following frame, because an invalid frame gets none.
  page.send({ ...event('note', 'onElementFocusGained'), seq: seq + 1 })
  await page.until('answer', () => page.frames.some((one) => one.kind === 'idle' && one.seq === seq + 1))
}

describe('forged frames', () => {
  const FORGED: Readonly<Record<string, readonly object[]>> = {
    'an element that there is not': [event('nothing', 'onAction'), event('main', 'onAction')],
    'an element without permission': [event('boss', 'onAction')],
    'a form that there is not, or that was never shown': [
      event('ok', 'onAction', null, 'nothing'),
      event('go', 'onAction', null, 'never'),
      { kind: 'resize', form: 'never', width: 1, height: 1 },
    ],
    'what an element does not do': [
      event('done', 'onAction'),
      event('ok', 'onElementDataChange', 'x'),
      event('ok', 'onAction', 5),
      event('orders', 'onAction'),
      event('note', 'onSort', sort('nr')),
      event('ok', 'showPage', 1),
      event('ok', 'showTab', 'main'),
      event('orders', 'onRecordSelection', { rows: [1, 2], selected: true }),
    ],
    'a column that cannot be sorted, or that there is not': [
      event('orders', 'onSort', sort('plain')),
      event('orders', 'onSort', sort('nothing')),
    ],
    'a value of another type': [
      event('note', 'onElementDataChange', 1),
      event('note', 'onElementDataChange', null),
      event('amount', 'onElementDataChange', '1'),
      event('fast', 'onElementDataChange', 'true'),
      event('country', 'onElementDataChange', true),
      event('note', 'onElementDataChange', { toString: 'x' }),
      event('note', 'onElementDataChange', ['x']),
      event('note', 'onElementDataChange', 'x'.repeat(MAX_VALUE + 1)),
      event('orders', 'showPage', 0),
      event('orders', 'showPage', 1.5),
      event('orders', 'onSort', { column: 'nr', direction: 'up' }),
    ],
    'an object in place of a name, with a length that is none': [
      { ...event('ok', 'onAction'), element: { length: UNCOMPARABLE } },
      { ...event('ok', 'onAction'), form: { length: UNCOMPARABLE } },
      event('note', 'onElementDataChange', { length: UNCOMPARABLE }),
      { kind: 'resize', form: { length: UNCOMPARABLE }, width: 1, height: 1 },
    ],
    'names of prototypes': PROTOTYPE_NAMES.flatMap((name) => [
      event(name, 'onAction'),
      event(name, 'onElementDataChange', 'x'),
      event('ok', 'onAction', null, name),
      event('orders', 'onSort', sort(name)),
      event('orders', name),
    ]),
  }

  test.each(Object.entries(FORGED))(
    'invalid frames are rejected and counted, and have no effect: %s',
    async (_what, frames) => {
      const page = await open()
      let seq = 1
      for (const frame of frames) {
        await forge(page, seq, frame)
        seq += 2
      }
      expect(page.text('main', 'done')).toBe('nothing')
      page.close()
      await waitUntil(async () => expect(await refusals()).toEqual([line(frames.length)]))
      await waitUntil(async () => expect(await audited()).toEqual(['user: refused']))
    },
  )

  test('events that were valid a moment ago, or violate a rule of the form, have no effect and are not counted', async () => {
    const page = await open()
    const late = [
      event('off', 'onAction'),
      event('hidden', 'onAction'),
      event('orders', 'onAction', 11),
      event('orders', 'onAction', '1'),
      event('orders', 'onRecordSelection', { rows: [4711], selected: true }),
      event('orders', 'onAction', '__proto__'),
      event('orders', 'showPage', 4),
      event('country', 'onElementDataChange', 'fr'),
      event('country', 'onElementDataChange', '__proto__'),
      event('amount', 'onElementDataChange', 11),
    ]
    for (const [index, frame] of late.entries()) await forge(page, 2 * index + 1, frame)
    expect(page.text('main', 'done')).toBe('nothing')
    page.close()

    const next = await open()
    await next.press('main', 'ok')
    await next.press('main', 'other')
    // Press a button again, although the first press removed it.
    await next.press('main', 'ok')
    await next.press('second', 'back')
    expect(next.text('main', 'done')).toBe('pressed ok 1')
    next.close()
    expect(await refusals()).toEqual([])
  })

  test('a browser that keeps sending forged frames is disconnected, and its client does not change', async () => {
    const visitor = await browse(shop)
    const page = await openClient(host.url, shop, visitor)
    const { client } = await page.frame('hello')
    for (let sent = 0; sent < 30; sent++) page.fire('main', 'boss', 'onAction')
    expect(await page.closed()).toBe(1008)
    expect(page.frames.at(-1)).toEqual({ kind: 'closed', why: 'refused' })
    await waitUntil(async () => expect(await refusals()).toHaveLength(1))
    const again = await rejoin(shop, visitor, client)
    expect((await again.frame('hello')).client).toBe(client)
    expect(again.text('main', 'done')).toBe('nothing')
  })

  test('sequence numbers: an event with a duplicate or earlier number is ignored; skipped numbers are allowed', async () => {
    const page = await open()
    const press = (seq: number) => page.send({ ...event('ok', 'onAction'), seq })
    for (const seq of [1, 1, 3, 2, 3, 10, 9]) press(seq)
    press(11)
    await page.until('answer', () => page.frames.some((one) => one.kind === 'idle' && one.seq === 11))
    expect(page.text('main', 'done')).toBe('pressed ok 4')
    press(Number.MAX_SAFE_INTEGER)
    press(12)
    const top = (one: ClientPage['frames'][number]) => one.kind === 'idle' && one.seq === Number.MAX_SAFE_INTEGER
    await page.until('answers', () => page.frames.filter(top).length === 2)
    expect(page.text('main', 'done')).toBe('pressed ok 5')
  })

  test('a second hello frame, with the id of the same or another client, has no effect', async () => {
    const [page, other] = [await open(), await open()]
    const { client } = await other.frame('hello')
    page.hello()
    page.hello({ client })
    page.hello({ client, page: other.page })
    await page.press('main', 'ok')
    expect(page.frames.filter(({ kind }) => kind === 'hello')).toHaveLength(1)
    await other.press('main', 'ok')
    expect([page.text('main', 'done'), other.text('main', 'done')]).toEqual(['pressed ok 1', 'pressed ok 1'])
    page.close()
    await waitUntil(async () => expect(await refusals()).toEqual([line(3)]))
  })

  test('frames before hello, binary frames and invalid JSON are rejected; afterwards the client still opens', async () => {
    const page = await openClientPage(host.url, shop, await browse(shop))
    page.fire('main', 'ok', 'onAction')
    page.socket.send(Buffer.from(JSON.stringify(event('ok', 'onAction'))))
    page.send('{"kind":"hello"')
    page.send(`${'['.repeat(50_000)}${']'.repeat(50_000)}`)
    page.hello()
    await page.until('form', () => page.frames.some(({ kind }) => kind === 'form'))
    await page.press('main', 'ok')
    expect(page.text('main', 'done')).toBe('pressed ok 1')
    page.close()
    await waitUntil(async () => expect(await refusals()).toEqual([line(4)]))
  })
})

describe('floods', () => {
  /** Opens connections repeatedly until `during` has finished. So `during` must not wait for the end of the flood. */
  async function whileFlooded(name: string, flood: (page: ClientPage) => void, during: () => Promise<void>) {
    let isOver = false
    const codes: number[] = []
    const visitor = await browse(name)
    const attack = async () => {
      while (!isOver) {
        const page = await openClientPage(host.url, name, visitor)
        flood(page)
        codes.push(await page.closed())
      }
    }
    const attacks = [attack(), attack(), attack(), attack()]
    await during().finally(() => {
      isOver = true
    })
    await Promise.all(attacks)
    return codes
  }

  test.each<[string, readonly number[], (page: ClientPage) => void, isAlone?: boolean]>([
    [
      '10,000 events together',
      [1008],
      (page) => {
        page.hello()
        for (let sent = 0; sent < 10_000; sent++) page.fire('main', 'ok', 'onAction')
      },
      true,
    ],
    [
      '10,000 invalid frames together',
      [1008],
      (page) => {
        page.hello()
        for (let sent = 0; sent < 10_000; sent++) page.send('{"kind":')
      },
      true,
    ],
    [
      '400 frames of the maximum size',
      [1008],
      (page) => {
        page.hello()
        const large = { ...event('note', 'onElementDataChange', 'x'.repeat(MAX_VALUE)), seq: 1 }
        for (let sent = 0; sent < 400; sent++) page.send(large)
      },
      true,
    ],
    ['a frame of 10 MB', [1009, 1006], (page) => page.socket.send(Buffer.alloc(10 * 1024 ** 2))],
    [
      'pings',
      [1008, 1006],
      (page) => {
        for (let sent = 0; sent < 10_000; sent++) page.socket.ping()
      },
    ],
    [
      'a message with endless fragments',
      [1008, 1006],
      (page) => {
        for (let sent = 0; sent < 1000; sent++) page.socket.send('{', { fin: false })
      },
    ],
  ])(
    '%s: the connections are closed, and meanwhile other users of the solution are served',
    async (_what, codes, flood, isAlone = false) => {
      // Floods that open a client per connection use a separate shop, because the shared shop has only one isolate.
      const name = isAlone ? await addShop() : shop
      const neighbour = await open(name)
      const ended = await whileFlooded(name, flood, async () => {
        for (let press = 0; press < 20; press++) await neighbour.press('main', 'ok')
      })
      expect(neighbour.text('main', 'done')).toBe('pressed ok 20')
      expect(ended.length).toBeGreaterThanOrEqual(4)
      expect(ended.filter((code) => !codes.includes(code))).toEqual([])
      // However many frames are rejected, the log gets only one line per network and minute.
      await waitUntil(async () => expect(await refusals(name)).toHaveLength(1))
      expect(await audited(name)).toContain('user: refused')
    },
  )

  test('a browser that never reads its responses is disconnected; its client waits for it', async () => {
    const [visitor, neighbour] = [await browse(shop), await open()]
    const page = await openClient(host.url, shop, visitor)
    const { client } = await page.frame('hello')
    page.socket.pause()
    let isOver = false
    page.socket.once('close', () => {
      isOver = true
    })
    // Each event causes a response of 90 kB. The events are sent as fast as the host handles them.
    const asking = (async () => {
      while (!isOver) {
        page.fire('main', 'large', 'onAction')
        await neighbour.press('main', 'ok')
      }
    })()
    await asking
    expect(neighbour.text('main', 'done')).toMatch(/^pressed ok \d+$/)
    const again = await rejoin(shop, visitor, client)
    expect((await again.frame('hello')).client).toBe(client)
  })

  test('200 silent connections, and one that sends invalid data, block neither users nor the shutdown of the host', async () => {
    const other = await startTestHost()
    const name = await addShop({}, other)
    const visitor = await browse(name, other)
    const silent = await Promise.all(Array.from({ length: 200 }, () => openClientPage(other.url, name, visitor)))
    silent[0]?.send('nonsense')
    const neighbour = await openClient(other.url, name, visitor)
    await neighbour.press('main', 'ok')
    expect(neighbour.text('main', 'done')).toBe('pressed ok 1')
    await other.stop()
    expect(new Set(await Promise.all(silent.map((page) => page.closed())))).toEqual(new Set([1001]))
  })

  test('a rejected handshake closes its connection, even if the browser keeps its side open', async () => {
    const { port, host: authority } = new URL(host.url)
    const socket = connectTcp({ port: Number(port), host: '127.0.0.1', allowHalfOpen: true })
    socket.on('error', () => {})
    const upgrade = 'Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13'
    socket.write(
      `GET /solution/nobody/client HTTP/1.1\r\nHost: ${authority}\r\n${upgrade}\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`,
    )
    const [answer] = (await once(socket, 'data')) as [Buffer]
    expect(answer.toString()).toMatch(/^HTTP\/1\.1 404 /)
    socket.resume()
    await once(socket, 'end')
    const closed = new Promise((resolve) => socket.once('close', resolve))
    // Keeps writing, because a closed connection is only noticed when a write fails.
    const writing = setInterval(() => socket.write('more'), 5)
    await closed
    clearInterval(writing)
    expect(socket.destroyed).toBe(true)
  })
})

describe('many clients', () => {
  const FEW = { TRUSTED_PROXIES: '127.0.0.1', CLIENTS_ADDRESS: '3', CLIENTS_SESSION: '2' }
  /** A host that closes disconnected clients after a short time. */
  let small: TestHost
  /** A host that waits a long time before it closes disconnected clients. */
  let patient: TestHost
  let smallShop: string
  beforeAll(async () => {
    small = await startTestHost({ ...FEW, CLIENT_GRACE: '400ms' })
    patient = await startTestHost({ ...FEW, CLIENT_GRACE: '10m' })
    await addUser(patient, 'anna')
    await addUser(patient, 'bert')
    smallShop = await addShop({}, small)
  })
  afterAll(() => Promise.all([small.stop(), patient.stop()]))

  const from = (address: string) => ({ 'x-forwarded-for': address })

  async function arrive(name: string, address: string, at: TestHost): Promise<ClientPage> {
    const visitor = await browse(name, at, from(address))
    const page = await openClientPage(at.url, name, visitor, { headers: from(address) })
    page.hello()
    return page
  }
  const ending = (page: ClientPage) =>
    page.until('form or end', () => page.frames.find(({ kind }) => kind === 'form' || kind === 'closed')?.kind)
  /** Opens three pages from one network and cuts their connections without a closing handshake. */
  async function vanishThree(name: string, at: TestHost): Promise<void> {
    for (const address of ['2001:db8::1', '2001:db8::2', '2001:db8::3']) {
      const page = await arrive(name, address, at)
      expect(await ending(page)).toBe('form')
      page.drop()
    }
  }
  /** Waits until the network can open three clients. */
  const untilThreeOpen = (openOne: (number: number) => Promise<ClientPage>) =>
    waitUntil(
      async () => {
        const pages = await Promise.all([4, 5, 6].map(openOne))
        try {
          expect(await Promise.all(pages.map(ending))).toEqual(['form', 'form', 'form'])
        } finally {
          for (const page of pages) page.drop()
        }
        // The clients from one attempt must close before the next attempt.
      },
      { interval: 1000 },
    )
  const refused = async (page: ClientPage) => [await page.closed(), page.frames]
  const REFUSED = [1013, [{ kind: 'closed', why: 'failed' }]]

  test('a network that repeatedly opens clients and disconnects cannot exceed its limit', async () => {
    const name = await addShop({}, patient)
    await vanishThree(name, patient)
    for (let tries = 0; tries < 5; tries++) {
      expect(await refused(await arrive(name, `2001:db8::ff:${tries}`, patient))).toEqual(REFUSED)
    }
    const neighbour = await arrive(name, '2001:db8:0:1::1', patient)
    expect(await ending(neighbour)).toBe('form')
    await neighbour.press('main', 'ok')
    expect(neighbour.text('main', 'done')).toBe('pressed ok 1')
    const { items } = await askAdmin(patient, 'GET', `solutions/${name}/log?limit=1000`)
    expect((items as { code?: string }[]).filter(({ code }) => code === 'sandbox_busy')).toHaveLength(1)
  })

  test('when the grace period of disconnected clients ends, their network can open clients again', async () => {
    await vanishThree(smallShop, small)
    await untilThreeOpen((number) => arrive(smallShop, `2001:db8::${number}`, small))
  })

  test('a browser that disconnects while its client is being looked up leaves no client behind', async () => {
    const visitor = await browse(smallShop, small)
    // The tab that owns the client does not respond, so the host waits 1 s for it.
    const frozen = await openClient(small.url, smallShop, visitor, { answersPings: false })
    const { client } = await frozen.frame('hello')
    for (let count = 0; count < 3; count++) {
      const page = await openClientPage(small.url, smallShop, visitor, { client })
      page.hello()
      await new Promise<void>((resolve) => page.socket.ping(undefined, undefined, () => resolve()))
      page.drop()
    }
    expect(await frozen.closed()).toBe(4409)
    // A client that is never closed would count towards the limit forever.
    await untilThreeOpen(async () => {
      const page = await openClientPage(small.url, smallShop, visitor)
      page.hello()
      return page
    })
  })

  test('a session can have a limited number of clients; other sessions’ clients are not counted', async () => {
    const name = await addShop({ authenticator: 'DEFAULT' }, patient)
    const [anna, bert] = [await visit(patient, name), await visit(patient, name)]
    await anna.signIn('anna')
    await bert.signIn('bert')
    await openClient(patient.url, name, anna)
    await openClient(patient.url, name, anna)
    const third = await openClientPage(patient.url, name, anna)
    third.hello()
    expect(await refused(third)).toEqual(REFUSED)
    const page = await openClient(patient.url, name, bert)
    await page.press('main', 'ok')
    expect(page.text('main', 'done')).toBe('pressed ok 1')
  })
})

describe('clients of other users', () => {
  /** Another solution, for the same users in the users table. */
  let branch: string
  beforeAll(async () => {
    branch = await addShop({ authenticator: 'DEFAULT' })
  })

  test('a client id stolen from another user, session or browser opens a new client, and the owner keeps theirs', async () => {
    const [anna, bert, elsewhere] = [await visit(host, office), await visit(host, office), await visit(host, office)]
    await anna.signIn('anna')
    await bert.signIn('bert')
    await elsewhere.signIn('anna')
    const owner = await openClient(host.url, office, anna)
    await owner.press('main', 'ok')
    const { client } = await owner.frame('hello')
    for (const thief of [bert, elsewhere]) {
      const page = await rejoin(office, thief, client)
      const hello = await page.frame('hello')
      expect([hello.client === client, hello.isNew]).toEqual([false, true])
      expect(page.text('main', 'done')).toBe('nothing')
    }
    await owner.press('main', 'ok')
    expect([owner.text('main', 'done'), owner.socket.readyState]).toEqual(['pressed ok 2', WebSocket.OPEN])

    const visitor = await browse(shop)
    const first = await openClient(host.url, shop, visitor)
    const own = (await first.frame('hello')).client
    expect((await (await rejoin(shop, await browse(shop), own)).frame('hello')).isNew).toBe(true)
    first.drop()
    expect((await (await rejoin(shop, visitor, own)).frame('hello')).client).toBe(own)
  })

  test('a client id from another solution, even with a session there, has no effect', async () => {
    const anna = await visit(host, office)
    await anna.signIn('anna')
    const { client } = await (await openClient(host.url, office, anna)).frame('hello')
    const there = await visit(host, branch)
    await there.signIn('anna')
    expect((await (await rejoin(branch, there, client)).frame('hello')).isNew).toBe(true)
  })

  test('without a session, or with a session of another solution, the connection reports the problem and closes', async () => {
    const anna = await visit(host, office)
    await anna.signIn('anna')
    const stolen = anna.cookie('session') ?? ''
    const there = await visit(host, branch)
    there.cookies.set(`session-${branch}`, { value: stolen, path: `/solution/${branch}/` })
    for (const visitor of [await visit(host, branch), there]) {
      const page = await openClientPage(host.url, branch, visitor)
      page.hello()
      page.fire('main', 'ok', 'onAction')
      expect([await page.closed(), page.frames]).toEqual([4401, [{ kind: 'closed', why: 'signed-out' }]])
    }
  })

  test.each([
    ['another site', { origin: 'https://example.org' }],
    ['a null origin', { origin: 'null' }],
    ['another site according to Fetch Metadata', { 'sec-fetch-site': 'cross-site' }],
  ])('a handshake from %s is rejected', async (_what, headers) => {
    const anna = await visit(host, office)
    await anna.signIn('anna')
    await expect(openClientPage(host.url, office, anna, { headers })).rejects.toThrow('handshake: 403')
  })

  test('an event after the session has ended has no effect, and the client closes', async () => {
    const anna = await visit(host, office)
    await anna.signIn('anna')
    const page = await openClient(host.url, office, anna)
    await page.press('main', 'ok')
    await anna.open()
    expect((await anna.logOut()).status).toBe(303)
    page.fire('main', 'ok', 'onAction')
    expect(await page.closed()).toBe(4401)
    expect(page.text('main', 'done')).toBe('pressed ok 1')
  })
})
