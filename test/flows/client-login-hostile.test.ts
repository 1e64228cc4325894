import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type ClientPage, openClient } from '../support/client-page.ts'
import { formWith } from '../support/forms.ts'
import { startTestHost, type TestHost } from '../support/host.ts'
import { createVisitor } from '../support/http.ts'
import { addDefaultSolution, askAdmin } from '../support/users.ts'
import { waitUntil } from '../support/wait-until.ts'

// Tests attacks on a login form's client before anyone has signed in, and input in password elements.

const LOGIN = formWith(
  { type: 'label', name: 'said', label: 'nothing' },
  {
    type: 'text',
    name: 'user',
    label: 'User',
    onElementDataChange: 'changed',
    onElementFocusGained: 'gained',
    onElementFocusLost: 'lost',
  },
  { type: 'button', name: 'enter', label: 'Sign in', kind: 'primary', onAction: 'enter' },
  { type: 'button', name: 'slowly', label: 'Slowly', onAction: 'slowly' },
  { type: 'button', name: 'later', label: 'Later', onAction: 'later' },
  { type: 'button', name: 'peek', label: 'Peek', onAction: 'peek' },
  { type: 'button', name: 'leave', label: 'Leave', onAction: 'leave' },
  { type: 'button', name: 'idle', label: 'Idle', onAction: 'idle' },
)
const FILES = {
  'globals.js': "function onSolutionOpen() { forms.main.elements.said.label = 'opened for ' + security.getUserName() }",
  'forms/login.json': JSON.stringify(LOGIN),
  'forms/login.js': `
    let presses = 0
    const anna = () => security.login('anna', 'a-1', ['Users'])
    const say = (text) => { forms.login.elements.said.label = text }
    function onLoad() { anna() }
    function onShow() { anna() }
    function onResize() { anna() }
    function changed() { say('changed ' + anna()); return true }
    function gained() { say('gained ' + anna()) }
    function lost() { say('lost ' + anna()) }
    function enter() { anna() }
    async function slowly() { await null; anna() }
    function later() { application.executeLater(() => say('later ' + anna()), 0) }
    function peek() { application.showForm('main') }
    function leave() { anna(); throw new Error('after it signed in') }
    function idle() { say('pressed ' + ++presses) }
  `,
  'forms/main.json': JSON.stringify(
    formWith(
      { type: 'label', name: 'said', label: 'SECRET' },
      { type: 'button', name: 'go', label: 'SECRET button', onAction: 'go' },
    ),
  ),
  'forms/main.js': "function go() { forms.main.elements.said.label = 'went' }",
}

let host: TestHost
/** Most tests share this solution. */
let office: string
let solutions = 0
beforeAll(async () => {
  host = await startTestHost()
  office = await addOffice()
})
afterAll(() => host.stop())

async function addOffice(at = host): Promise<string> {
  const name = `office-${++solutions}`
  const manifest = { loginForm: 'login', firstForm: 'main', permissions: ['Users'] }
  await addDefaultSolution(at, name, manifest, FILES)
  return name
}

async function open(name = office, at = host) {
  const visitor = createVisitor(at.url)
  const path = `/solution/${name}/index.html`
  expect((await visitor.get(path)).status).toBe(200)
  const page = await openClient(at.url, name, visitor)
  return {
    page,
    visitor,
    post: (token: string, solution = name) => visitor.post(`/solution/${solution}/index.html`, { id_token: token }),
    session: async () => (await visitor.get(`/solution/${name}/session`)).status,
  }
}

async function logOf(name: string): Promise<readonly { level: string; message: string }[]> {
  const { items } = await askAdmin(host, 'GET', `solutions/${name}/log?limit=1000`)
  return items as { level: string; message: string }[]
}

const signsIn = (page: ClientPage) => page.frames.some(({ kind }) => kind === 'sign-in')
const REFUSED = expect.stringMatching(/^security\.login returned false/)

describe('before a sign-in', () => {
  test('security.login works only when a button is pressed, not during load, focus, input, resize or delayed calls', async () => {
    const before = (await logOf(office)).length
    const { page, session } = await open()
    await page.event('login', 'user', 'onElementFocusGained')
    expect(page.text('login', 'said')).toBe('gained false')
    await page.enter('login', 'user', 'anna')
    expect(page.text('login', 'said')).toBe('changed false')
    await page.event('login', 'user', 'onElementFocusLost')
    expect(page.text('login', 'said')).toBe('lost false')
    await page.press('login', 'later')
    await page.until('what ran later', () => page.text('login', 'said') === 'later false')
    page.send({ kind: 'resize', seq: page.seq() + 1, form: 'login', width: 500, height: 500 })
    await page.until('answer', () => page.frames.some((one) => one.kind === 'idle' && one.seq === page.seq() + 1))
    expect([signsIn(page), await session()]).toEqual([false, 401])
    const refused = (await logOf(office)).slice(before).filter(({ level }) => level === 'warn')
    expect(refused.map(({ message }) => message)).toEqual(Array(7).fill(REFUSED))
  })

  // Run these concurrently, because the host waits for the page before it closes the connection.
  test.concurrent.each(['enter', 'slowly'])(
    'pressing "%s" signs the user in, and the client is closed',
    async (button) => {
      const { page, post, session, visitor } = await open()
      const seq = page.fire('login', button, 'onAction')
      page.fire('login', 'idle', 'onAction')
      const { token } = await page.frame('sign-in')
      page.fire('login', 'idle', 'onAction')
      expect((await post(token)).status).toBe(303)
      expect(await session()).toBe(200)
      expect(await page.closed()).toBe(1000)
      expect(page.frames.filter((one) => one.kind === 'patch' && one.seq > seq)).toEqual([])
      expect(page.everything()).not.toContain('SECRET')
      const next = await openClient(host.url, office, visitor)
      expect(next.text('main', 'said')).toBe('opened for anna')
    },
  )

  test('a press that fails after security.login does not sign the user in', async () => {
    const { page, session } = await open()
    await page.press('login', 'leave')
    await page.press('login', 'idle')
    expect([page.text('login', 'said'), signsIn(page), await session()]).toEqual(['pressed 1', false, 401])
  })

  test('no other form can be opened, neither by the script nor by frames', async () => {
    const { page } = await open()
    await page.press('login', 'peek')
    expect((await page.frame('message')).level).toBe('error')
    await page.event('main', 'go', 'onAction')
    await page.press('login', 'idle')
    expect(page.text('login', 'said')).toBe('pressed 1')
    expect(page.everything()).not.toMatch(/SECRET|-main/)
    const texts = (await logOf(office)).map(({ message }) => message)
    expect(texts).toContainEqual(expect.stringContaining('nobody is signed in, so only the form login can be shown'))
    page.close()
    await waitUntil(async () =>
      expect((await logOf(office)).map(({ message }) => message)).toContainEqual(
        expect.stringMatching(/^the host rejected invalid WebSocket frames \(1\)/),
      ),
    )
  })

  test('presses over the limit THROTTLE_NETWORK do not run in any client, and the user gets an error message', async () => {
    const strict = await startTestHost({ THROTTLE_NETWORK: '3' })
    try {
      const name = await addOffice(strict)
      const first = await open(name, strict)
      for (let press = 0; press < 3; press++) await first.page.press('login', 'idle')
      expect(first.page.text('login', 'said')).toBe('pressed 3')
      await first.page.press('login', 'enter')
      expect((await first.page.frame('message')).level).toBe('error')
      const second = await open(name, strict)
      await second.page.press('login', 'enter')
      expect((await second.page.frame('message')).level).toBe('error')
      expect([signsIn(first.page), signsIn(second.page)]).toEqual([false, false])
      // Events other than sign-in attempts still work.
      await first.page.enter('login', 'user', 'x')
      expect(first.page.text('login', 'said')).toBe('changed false')
    } finally {
      await strict.stop()
    }
  })

  test('a client’s sign-in token does not work in another browser or solution, or twice', async () => {
    const other = await addOffice()
    const owner = await open()
    await owner.page.press('login', 'enter')
    const { token } = await owner.page.frame('sign-in')
    const thief = await open()
    expect((await thief.post(token)).status).toBe(303)
    expect(await thief.session()).toBe(401)
    const there = await open(other)
    await there.post(token)
    expect(await there.session()).toBe(401)
    await owner.post(token)
    expect(await owner.session()).toBe(200)
    const again = await open()
    for (const [cookie, value] of owner.visitor.cookies) {
      if (cookie.startsWith('login-')) again.visitor.cookies.set(cookie, value)
    }
    await again.post(token)
    expect(await again.session()).toBe(401)
  })

  test('a client id stolen from a login form has no effect in another browser', async () => {
    const owner = await open()
    await owner.page.press('login', 'idle')
    const { client } = await owner.page.frame('hello')
    const thief = await open()
    const page = await openClient(host.url, office, thief.visitor, { client })
    expect((await page.frame('hello')).isNew).toBe(true)
    expect(page.text('login', 'said')).toBe('nothing')
    await owner.page.press('login', 'idle')
    expect(owner.page.text('login', 'said')).toBe('pressed 2')
  })
})

describe('passwords', () => {
  const KEEPER = {
    'globals.js': 'const known = []; function onSolutionOpen(arg, query) { known.push(query.custom_pin) }',
    'forms/main.json': JSON.stringify(
      formWith(
        { type: 'password', name: 'pin', label: 'PIN', onElementDataChange: 'changed' },
        { type: 'label', name: 'said', label: 'nothing' },
        { type: 'button', name: 'show', label: 'Show', onAction: 'show' },
      ),
    ),
    'forms/main.js': `
      function changed(before, after) {
        known.push(before, after)
        console.log('from', before, 'to', after, forms.main.elements.pin.value, JSON.stringify({ after }))
        i18n.getI18NMessage(after)
        forms.main.elements.said.label = 'i18n:' + after
        if (after.startsWith('refuse')) return false
        if (after.startsWith('throw')) throw new Error('cannot take ' + after + ' after ' + before)
        return true
      }
      function show() { application.showForm('second') }
    `,
    'forms/second.json': JSON.stringify(
      formWith(
        { type: 'button', name: 'tell', label: 'Tell', onAction: 'tell' },
        { type: 'button', name: 'fail', label: 'Fail', onAction: 'fail' },
      ),
    ),
    'forms/second.js': `
      function tell() { console.error(known.join(' '), encodeURIComponent(forms.main.elements.pin.value)); application.output(known) }
      function fail() { application.executeLater(() => { throw new TypeError(known.join('; ')) }, 0) }
    `,
  }

  test('passwords typed into a password element are never logged, even if a script logs them immediately or later', async () => {
    const name = `office-${++solutions}`
    await addDefaultSolution(host, name, { authenticator: 'NONE', firstForm: 'main' }, KEEPER)
    const visitor = createVisitor(host.url)
    const query = '?custom_pin=zebra%20zero'
    await visitor.get(`/solution/${name}/index.html${query}`)
    const page = await openClient(host.url, name, visitor, { query })
    const passwords = [
      'zebra one',
      'zebra "two" & <more>',
      'refuse zebra three',
      'throw zebra four',
      `zebra\tfive ${'x'.repeat(200)}`,
      'zebra six',
    ]
    for (const password of passwords) await page.enter('main', 'pin', password)
    await page.press('main', 'show')
    await page.press('second', 'tell')
    await page.press('second', 'fail')
    const lines = await waitUntil(async () => {
      const log = await logOf(name)
      expect(log.filter(({ level }) => level === 'error').length).toBeGreaterThanOrEqual(3)
      expect(log.map(({ message }) => message)).toContainEqual(expect.stringMatching(/^TypeError: .*\[pin\]/))
      return log
    })
    expect(JSON.stringify(lines)).not.toMatch(/zebra/i)
    expect(JSON.stringify(lines)).toContain('from [pin]')
    expect(host.logged()).not.toMatch(/zebra/i)
    // No password is sent back to the browser, except where the script put it into a label.
    expect(page.frames.some((one) => one.kind === 'patch' && JSON.stringify(one).includes('value=\\"zebra'))).toBe(
      false,
    )
  })
})
