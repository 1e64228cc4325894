import { setTimeout as wait } from 'node:timers/promises'
import { type DefaultTreeAdapterMap, parseFragment } from 'parse5'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { isAllowedAddress } from '../../runtime/address.ts'
import { type ClientPage, openClient, openClientPage } from '../support/client-page.ts'
import { formWith } from '../support/forms.ts'
import { startTestHost, type TestHost } from '../support/host.ts'
import { createVisitor } from '../support/http.ts'
import { addDefaultSolution } from '../support/users.ts'
import { type ClientAttack, readClientAttacks } from './attacks.ts'

// Each script of `clients/` runs in a client that a browser opens. If the attack succeeds, the script shows ESCAPED on
// its form. At the same time, a user works with another solution and must always get a response.

const ADDRESSES = ['href', 'src', 'action', 'formaction', 'xlink:href']
/** The maximum memory growth of the host process during an attack, in bytes. */
const HOST_GROWTH = 256 * 1024 ** 2
const COLUMNS = [{ name: 'text', sortable: true }]

const FORM = formWith(
  { type: 'label', name: 'said', label: 'nothing' },
  { type: 'text', name: 'name', label: 'Name' },
  { type: 'password', name: 'pin', label: 'PIN' },
  { type: 'textarea', name: 'note', label: 'Note' },
  { type: 'select', name: 'choice', label: 'Choice', options: [{ value: 'a', label: 'A' }] },
  { type: 'radio', name: 'way', label: 'Way', options: [{ value: 'a', label: 'A' }] },
  {
    type: 'panel',
    name: 'box',
    label: 'Box',
    layout: [{ columns: [{ elements: [{ type: 'link', name: 'away', label: 'Away', href: '/' }] }] }],
  },
  { type: 'image', name: 'picture', src: 'a.png', alt: 'A' },
  ...['list', 'list2', 'list3'].map((name) => ({ type: 'table', name, columns: COLUMNS, pageSize: 50 })),
  { type: 'button', name: 'go', label: 'Go', onAction: 'go' },
  { type: 'button', name: 'ok', label: 'OK', onAction: 'ok' },
)
const FILES = {
  'media/a.png': 'no picture',
  'forms/main.json': JSON.stringify(FORM),
  'forms/main.js': `
    let count = 0
    function go() { return attack() }
    function ok() { count++; forms.main.elements.name.value = 'fine ' + count }
    function onShow() { if (typeof mainShown === 'function') mainShown() }
    function onUnload() { if (typeof mainUnloaded === 'function') mainUnloaded() }
  `,
  'forms/second.json': JSON.stringify(formWith({ type: 'button', name: 'ok', label: 'OK', onAction: 'ok' })),
  'forms/second.js': `
    function onShow() { if (typeof secondShown === 'function') secondShown() }
    function ok() {}
  `,
}

/**
 * Runs the attack in the URL parameter `attack`, before anything is shown. Only for attacks that don't affect other
 * clients of the same version.
 */
const EVALUATES = 'function onSolutionOpen(arg, queryParams) { (0, eval)(queryParams.attack) }'

let host: TestHost
let solutions = 0
let shared: string
let neighbour: ClientPage
beforeAll(async () => {
  // A short grace period, so that an attack's client is closed before the next attack opens one.
  host = await startTestHost({ CLIENT_GRACE: '500ms' })
  shared = await add(EVALUATES)
  neighbour = await openClient(host.url, await add('// well behaved'), createVisitor(host.url))
})
afterAll(() => host.stop())

async function add(script: string): Promise<string> {
  const name = `attack-${++solutions}`
  await addDefaultSolution(host, name, { authenticator: 'NONE', firstForm: 'main' }, { ...FILES, 'globals.js': script })
  return name
}

const kinds = (page: ClientPage) => page.frames.map(({ kind }) => kind)
const hasError = (page: ClientPage) => page.frames.some((one) => one.kind === 'message' && one.level === 'error')

/** Returns how the attack ended, in the words that the scripts' first lines use. */
function endOf(page: ClientPage): ClientAttack['expected'][number] {
  if (kinds(page).includes('closed')) return 'closed'
  if (kinds(page).includes('reopened')) return 'reopened'
  return hasError(page) ? 'error' : 'contained'
}

/** Presses the attack's button until the client is closed. */
async function play({ source, isAlone, presses }: ClientAttack): Promise<ClientPage> {
  const name = isAlone ? await add(source) : shared
  const query = isAlone ? '' : `?${new URLSearchParams({ attack: source })}`
  const page = await openClientPage(host.url, name, createVisitor(host.url), { query })
  page.hello()
  await page.until('first form or end', () => ['idle', 'closed'].some((kind) => kinds(page).includes(kind as 'idle')))
  for (let press = 0; press < presses && !kinds(page).includes('closed'); press++) {
    await page.press('main', 'go')
    if (kinds(page).includes('reopened')) break
  }
  return page
}

function checkMarkup(html: string): void {
  const walk = (node: DefaultTreeAdapterMap['node']): void => {
    expect(['script', 'iframe', 'object', 'svg', 'math', 'style', 'base', 'meta', 'link']).not.toContain(node.nodeName)
    for (const { name, value } of 'attrs' in node ? node.attrs : []) {
      expect(name).not.toMatch(/^on|^style$|^srcdoc$/)
      if (ADDRESSES.includes(name)) expect([value, isAllowedAddress(value)]).toEqual([value, true])
    }
    if ('childNodes' in node) node.childNodes.forEach(walk)
  }
  walk(parseFragment(html))
}

/** Checks that a script achieved nothing that is forbidden to all scripts, whatever it declares. */
function checkFrames(page: ClientPage, { shows }: ClientAttack): void {
  const all = page.everything()
  expect(all).not.toContain('ESCAPED')
  if (shows !== null) expect(all).toContain(shows)
  for (const frame of page.frames) {
    if (frame.kind === 'form') checkMarkup(frame.html)
    if (frame.kind === 'patch') for (const { html } of frame.changes) checkMarkup(html)
    if (frame.kind === 'go') expect(isAllowedAddress(frame.href)).toBe(true)
    if (frame.kind === 'message') expect(frame.text.length).toBeLessThan(10_000)
    expect(['sign-in', 'sign-out']).not.toContain(frame.kind)
  }
  // An attack may open at most one URL.
  expect(kinds(page).filter((kind) => kind === 'go').length).toBeLessThanOrEqual(1)
}

/** Presses a button in the other solution ten times while the attack runs. */
async function pressBeside(): Promise<void> {
  for (let press = 0; press < 10; press++) {
    await neighbour.press('main', 'ok')
    await wait(50)
  }
}

// Run the attacks concurrently, since most of their time is spent waiting.
test.concurrent.each(readClientAttacks())(
  'client attack $name has an outcome that it declares, shows nothing forbidden, and another solution’s user still gets responses',
  { timeout: 90_000 },
  async (attack) => {
    const size = process.memoryUsage().rss
    const [page] = await Promise.all([play(attack), pressBeside()])
    expect(attack.expected).toContain(endOf(page))
    checkFrames(page, attack)
    // The attacking client still works, unless it was closed or the attack declares otherwise.
    if (endOf(page) !== 'closed' && attack.settles) {
      await page.press('main', 'ok')
      expect(page.element('main', 'name')).toMatch(/value="fine \d+"/)
    }
    page.close()
    expect(process.memoryUsage().rss - size).toBeLessThan(HOST_GROWTH)
  },
)
