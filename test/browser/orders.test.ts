import { readFileSync } from 'node:fs'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { packFolder } from '../../base/bundles/pack.ts'
import { exampleFolder } from '../../host/solutions/examples.ts'
import { closeContexts, sharedBrowser } from '../support/browser.ts'
import {
  eventually,
  faultsOfScreen,
  hear,
  nameOfFocus,
  openNetwork,
  openWatched,
  pressUntil,
  signIn,
} from '../support/client-browser.ts'
import { startTestHost, type TestHost } from '../support/host.ts'
import { addUser, askAdmin, PASSWORD } from '../support/users.ts'

// Tests solutions/orders in a real browser on a real host. Each test changes its own orders.

const PAGE = '/solution/orders/index.html'
const USERS = { vera: ['Orders'], edith: ['Orders', 'Edit'], marco: ['Orders', 'Edit', 'Approve'] } as const
type Username = keyof typeof USERS

const input = (name: string) => `[id="e-order-${name}.input"]`
const error = (name: string) => `[id="e-order-${name}.error"]`
const filter = (name: string) => `[id="e-orders-${name}.input"]`
/** The sample orders are always the same. Those from O-1049 on are new; earlier ones are approved or shipped. */
const row = (number: number) => `[id="e-orders-list.row.${number - 1000}"]`
const opener = (number: number) => `${row(number)} button`
const chooser = (number: number) => `${row(number)} input`
const sorter = (column: string) => `[id="e-orders-list.sort.${column}"]`
const pager = (to: string) => `[id="e-orders-list.${to}"]`
const messageOf = (form: 'order' | 'orders') => `#e-${form}-message`

let host: TestHost
let browser: Browser

beforeAll(async () => {
  host = await startTestHost({ CALL_TIME: '20s' })
  const answer = await host.upload('orders', await packFolder(exampleFolder('orders')))
  expect(await answer.json()).toMatchObject({ active: true, warnings: [] })
  for (const [username, permissions] of Object.entries(USERS)) await addUser(host, username, { permissions })
  browser = await sharedBrowser()
})

afterAll(async () => {
  await closeContexts(browser)
  await host?.stop()
})

/** Opens a separate browser profile and signs in. */
async function open(username: Username = 'marco', base = host.url) {
  const opened = await openWatched(browser)
  await signIn(opened.page, `${base}${PAGE}`, username)
  await opened.page.waitForSelector(row(1060))
  return opened
}

async function openOrder(page: Page, number: number): Promise<void> {
  await page.click(opener(number))
  await page.waitForSelector('#f-order')
  expect(await page.title()).toBe(`Order O-${number}`)
}

/** Opens a second page as the same user and reads the stored order there. */
async function readOrder(page: Page, number: number): Promise<Record<string, string>> {
  const second = await page.context().newPage()
  await second.goto(`${host.url}${PAGE}`)
  await second.waitForSelector(row(1060))
  await second.fill(filter('search'), `O-${number}`)
  await second.press(filter('search'), 'Enter')
  await eventually(() => second.locator('tbody tr').count()).toBe(1)
  await openOrder(second, number)
  const names = ['customer', 'mail', 'ordered', 'amount', 'status', 'notes']
  const values = await Promise.all(names.map(async (name) => [name, await second.inputValue(input(name))]))
  await second.close()
  return Object.fromEntries(values) as Record<string, string>
}

async function backToList(page: Page): Promise<void> {
  await page.click(input('back'))
  await page.waitForSelector('#f-orders')
}

/** The element's text with normalised spaces, because languages use different spaces in numbers and dates. */
async function words(page: Page, selector: string): Promise<string> {
  return (await page.innerText(selector)).replace(/\s+/g, ' ').trim()
}

function column(page: Page, label: string): Promise<string[]> {
  return page.locator(`#e-orders-list td[data-label="${label}"]`).allInnerTexts()
}

describe('the list', () => {
  test('the list can be searched, filtered, sorted, paged and selected from', async () => {
    await using opened = await open('vera')
    const { page, complaints } = opened
    expect(await page.innerText('caption')).toBe('Orders found: 60, total €387,825.95')
    await page.fill(filter('search'), 'HALM')
    await page.press(filter('search'), 'Enter')
    await eventually(() => column(page, 'Customer')).toEqual(Array(4).fill('Bakkerij De Halm'))
    await page.selectOption(filter('status'), 'shipped')
    await eventually(() => column(page, 'Status')).toEqual(Array(2).fill('Shipped'))
    await page.fill(filter('search'), 'nobody at all')
    await page.press(filter('search'), 'Tab')
    await eventually(() => page.innerText('tbody')).toBe('Nothing to show')
    await page.fill(filter('search'), '')
    await page.selectOption(filter('status'), '')
    await page.press(filter('search'), 'Tab')
    await page.waitForSelector(row(1060))

    await page.click(sorter('amount'))
    await page.waitForSelector('th[aria-sort=ascending]')
    const amounts = (await column(page, 'Amount')).map((text) => Number(text.replace(/[€,]/g, '')))
    expect(amounts).toEqual(amounts.toSorted((one, other) => one - other))
    expect(Math.max(...amounts)).toBeLessThan(3000)
    await page.click(sorter('number'))
    await eventually(() => column(page, 'Number')).toContain('O-1001')
    await page.click(pager('next'))
    await page.waitForSelector('text=Page 2 of 5')
    expect((await column(page, 'Number')).at(0)).toBe('O-1013')
    await page.click(pager('last'))
    await page.waitForSelector('text=49 to 60 of 60')

    // On a phone, each row takes two lines, or three if the name is long.
    await page.setViewportSize({ width: 390, height: 844 })
    const heights = () =>
      page.evaluate<number[]>("[...document.querySelectorAll('tbody tr')].map((row) => row.offsetHeight)")
    expect(Math.min(...(await heights()))).toBeLessThan(80)
    expect(Math.max(...(await heights()))).toBeLessThan(110)
    expect(await page.innerText(`${row(1060)} .badge`)).toBe('New')
    await page.setViewportSize({ width: 1280, height: 900 })

    const openButton = page.locator(filter('open'))
    expect(await openButton.isDisabled()).toBe(true)
    await page.check(chooser(1049))
    await eventually(() => openButton.isEnabled()).toBe(true)
    await page.check(chooser(1050))
    await eventually(() => openButton.isEnabled()).toBe(false)
    await page.uncheck(chooser(1049))
    await eventually(() => openButton.isEnabled()).toBe(true)
    await openButton.click()
    await page.waitForSelector('#f-order')
    expect(await page.title()).toBe('Order O-1050')
    expect(complaints).toEqual([])
  })

  test('a button downloads the report from an endpoint, with the user’s session', async () => {
    await using opened = await open('vera')
    const { page, complaints } = opened
    const [download] = await Promise.all([page.waitForEvent('download'), page.click(filter('report'))])
    expect([download.url(), download.suggestedFilename()]).toEqual([
      `${host.url}/solution/orders/api/orders.csv`,
      'orders.csv',
    ])
    const lines = readFileSync(await download.path(), 'utf8')
      .trim()
      .split(/\r?\n/)
    expect([lines.length > 60, lines.join('\n')]).toEqual([true, expect.stringContaining('O-1060')])
    expect(await page.innerText('caption')).toContain('Orders found')
    expect(complaints).toEqual([])
  })

  test('a click, a double click and the keyboard open an order, and the new form’s title gets the focus', async () => {
    await using opened = await open()
    const { page, complaints } = opened
    const ways = [
      () => page.click(opener(1060)),
      () => page.dblclick(`${row(1059)} td:last-child`),
      () => page.press(opener(1058), 'Enter'),
    ]
    for (const [index, way] of ways.entries()) {
      await way()
      await page.waitForSelector('#f-order')
      expect(await page.innerText('h1')).toBe(`Order O-${1060 - index}`)
      expect(await nameOfFocus(page)).toBe('f-order.title')
      await backToList(page)
      expect(await nameOfFocus(page)).toBe('f-orders.title')
    }
    expect(complaints).toEqual([])
  })
})

describe('an order', () => {
  test('an order can be changed and saved: this is announced, shown in the list, and visible to other users who open it', async () => {
    await using opened = await open('edith')
    const { page, complaints } = opened
    await openOrder(page, 1056)
    const said = await hear(page, messageOf('order'))
    await page.fill(input('customer'), 'Larkspur & Daughters <Ltd>')
    await page.fill(input('notes'), 'Ring twice.\nMind the dog.')
    await page.click(input('save'))
    await eventually(said).toBe('Order saved.')
    expect(await readOrder(page, 1056)).toMatchObject({
      customer: 'Larkspur & Daughters <Ltd>',
      notes: 'Ring twice.\nMind the dog.',
    })
    await backToList(page)
    expect(await page.innerText(`${row(1056)} td[data-label=Customer]`)).toBe('Larkspur & Daughters <Ltd>')
    expect(complaints).toEqual([])
  })

  test('an order with missing required fields is not saved: each field shows an error, and the first one gets the focus', async () => {
    await using opened = await open('edith')
    const { page, complaints } = opened
    await page.click(filter('create'))
    await page.waitForSelector('#f-order')
    const said = await hear(page, error('customer'))
    await page.click(input('save'))
    await eventually(said).toBe('Error: Please fill in this field.')
    for (const name of ['mail', 'amount'])
      expect(await page.innerText(error(name))).toContain('Please fill in this field.')
    expect(await page.innerText(error('ordered'))).toBe('')
    expect(await nameOfFocus(page)).toBe('e-order-customer.input')
    expect(await page.getAttribute(input('customer'), 'aria-describedby')).toContain('e-order-customer.error')
    expect(await faultsOfScreen(page, 'order-missing')).toEqual([])
    await page.fill(input('mail'), 'no address')
    await page.press(input('mail'), 'Tab')
    await eventually(() => page.innerText(error('mail'))).toContain('Enter an email address')
    // The input keeps what was typed, so that the user can correct it.
    expect(await page.inputValue(input('mail'))).toBe('no address')
    await page.fill(input('customer'), 'Anna')
    await page.fill(input('amount'), '5')
    await page.click(input('save'))
    await eventually(() => nameOfFocus(page)).toBe('e-order-mail.input')
    expect(complaints).toEqual([])
  })

  test.each([
    ['the form’s function', 1055, 'ordered', '2999-01-01', 'The date can’t be in the future.'],
    ['the module’s listener', 1054, 'status', 'approved', 'A new order must be approved first: choose Approve'],
    ['the module’s listener', 1048, 'amount', '5', 'You can’t change the amount of an approved order.'],
  ] as const)(
    '%s rejects a value: O-%i gets the old %s back, and the reason is shown',
    async (_who, number, name, value, why) => {
      await using opened = await open('edith')
      const { page, complaints } = opened
      if (number < 1049) await page.click(pager('next'))
      await openOrder(page, number)
      const before = await page.inputValue(input(name))
      const said = await hear(page, error(name))
      if (name === 'status') await page.selectOption(input(name), value)
      else await page.fill(input(name), value)
      await page.focus(input('notes'))
      await eventually(said).toContain(why)
      expect(await page.inputValue(input(name))).toBe(before)
      expect(await page.getAttribute(input(name), 'aria-invalid')).toBe('true')
      expect(await nameOfFocus(page)).toBe('e-order-notes.input')
      expect(complaints).toEqual([])
    },
  )

  test('an order above 10,000 can be approved only with a note, which a listener in the module requires', async () => {
    await using opened = await open('marco')
    const { page, complaints } = opened
    const said = await hear(page, messageOf('orders'))
    await page.check(chooser(1059))
    await page.check(chooser(1057))
    await page.click(filter('approve'))
    await eventually(said).toBe(
      '1 of 2 approved. O-1059 is above €10,000.00: add a note that gives the reason for the approval.',
    )
    expect(await nameOfFocus(page)).toBe('e-orders-approve.input')
    expect(await faultsOfScreen(page, 'list-message')).toEqual([])
    expect(await page.innerText(`${row(1057)} td[data-label=Status]`)).toBe('Approved')
    await openOrder(page, 1059)
    await page.fill(input('notes'), 'Paid in advance.')
    await page.click(input('save'))
    await page.waitForSelector('text=Order saved.')
    await backToList(page)
    await page.check(chooser(1059))
    await page.click(filter('approve'))
    await page.waitForSelector('text=1 of 1 approved.')
    expect(await page.innerText(`${row(1059)} td[data-label=Status]`)).toBe('Approved')
    await openOrder(page, 1059)
    await page.getByRole('tab', { name: 'History' }).click()
    await eventually(() => page.locator('#e-order-history td[data-label=Status]').allInnerTexts()).toEqual([
      'Approved',
      'New',
      'New',
    ])
    expect(await page.locator('#e-order-history td[data-label=By]').allInnerTexts()).toEqual([
      'marco',
      'marco',
      'sample',
    ])
    expect(complaints).toEqual([])
  })

  test('an order shows its amount with digit grouping while it is not edited; the user’s input is not changed', async () => {
    await using opened = await open('edith')
    const { page, complaints } = opened
    await openOrder(page, 1051)
    const cover = page.locator('#e-order-amount .cover')
    expect(await cover.innerText()).toBe('5,924.15')
    await page.click(input('amount'))
    expect(await cover.isVisible()).toBe(false)
    await page.keyboard.press('ControlOrMeta+a')
    await page.keyboard.type('654321.5')
    expect(await page.inputValue(input('amount'))).toBe('654321.5')
    await page.keyboard.press('Tab')
    expect(await cover.innerText()).toBe('654,321.50')
    await page.click(input('amount'))
    await page.keyboard.press('ControlOrMeta+a')
    await page.keyboard.type('4321.5')
    await page.click(input('save'))
    await page.waitForSelector('text=Order saved.')
    expect(await cover.innerText()).toBe('4,321.50')
    expect(await page.inputValue(input('amount'))).toBe('4321.50')
    expect((await readOrder(page, 1051)).amount).toBe('4321.50')
    // Restores the amount, because other tests rely on the total of the sample orders.
    await page.fill(input('amount'), '5924.15')
    await page.click(input('save'))
    await eventually(async () => (await readOrder(page, 1051)).amount).toBe('5924.15')
    expect(complaints).toEqual([])
  })

  test('an order shows "Unsaved changes" from the first key until it is saved, and the page asks before the user leaves it', async () => {
    await using opened = await open('edith')
    const { page, complaints } = opened
    const dialog = page.getByRole('dialog', { name: 'Leave without saving?' })
    const stay = dialog.getByRole('button', { name: 'Stay' })
    const signOut = page.getByRole('button', { name: 'Sign out' })
    const asked: string[] = []
    page.on('dialog', (one) => {
      asked.push(one.type())
      void one.dismiss()
    })
    await openOrder(page, 1053)
    const said = await hear(page, '.unsaved')
    expect(await said()).toBe('')
    await page.locator(input('notes')).press('End')
    await page.keyboard.type('!')
    expect(await said()).toBe('Unsaved changes')
    await page.evaluate('void location.reload()')
    await eventually(() => asked).toEqual(['beforeunload'])
    await page.click(input('save'))
    await page.waitForSelector('text=Order saved.')
    await eventually(said).toBe('')

    await page.fill(input('notes'), 'not saved')
    await page.click(input('back'))
    await stay.waitFor()
    expect(await nameOfFocus(page)).toBe('Stay')
    expect(await faultsOfScreen(page, 'order-leave')).toEqual([])
    await stay.click()
    expect([await said(), await page.inputValue(input('notes'))]).toEqual(['Unsaved changes', 'not saved'])
    expect(await nameOfFocus(page)).toBe('e-order-back.input')
    await signOut.click()
    await stay.waitFor()
    await page.keyboard.press('Escape')
    expect(await dialog.count()).toBe(0)
    await eventually(() => page.locator('#client-progress').isHidden()).toBe(true)
    expect(await faultsOfScreen(page, 'order-unsaved')).toEqual([])
    await page.click(input('back'))
    await dialog.getByRole('button', { name: 'Leave without saving' }).click()
    await page.waitForSelector('#f-orders')
    await openOrder(page, 1053)
    expect(await page.inputValue(input('notes'))).not.toBe('not saved')
    expect(await page.innerText('.unsaved')).toBe('')
    await page.fill(input('notes'), 'not saved')
    await signOut.click()
    await Promise.all([
      page.waitForURL('**?signed-out'),
      dialog.getByRole('button', { name: 'Leave without saving' }).click(),
    ])
    expect(asked).toEqual(['beforeunload'])
    expect(complaints).toEqual([])
  })
})

test('changing the language immediately changes labels, numbers, dates and page text, without a reload', async () => {
  await using opened = await open('vera')
  const { page, complaints, sources } = opened
  const pages = sources.length
  await page.click(filter('language'))
  await eventually(() => page.getAttribute('html', 'lang')).toBe('nl')
  await eventually(() => words(page, 'caption')).toBe('Gevonden orders: 60, samen € 387.825,95')
  expect(await page.innerText('label[for="e-orders-search.input"]')).toBe('Zoeken')
  expect(await page.getAttribute(filter('search'), 'placeholder')).toBe('Nummer, klant of e-mail')
  expect(await words(page, row(1058))).toBe('O-1058 Kestrel Sailmakers 15 nov 2026 € 11.745,60 Nieuw')
  expect(await page.innerText('.account button')).toBe('Uitloggen')
  expect(await page.innerText('.pager')).toContain('Pagina 1 van 5')
  expect(await nameOfFocus(page)).toBe('e-orders-language.input')
  await page.click(filter('language'))
  await eventually(() => page.getAttribute('html', 'lang')).toBe('en')
  await eventually(() => page.innerText(row(1058))).toContain('€11,745.60')
  expect(sources).toHaveLength(pages)
  expect(complaints).toEqual([])
})

describe('interruptions that a client survives', () => {
  test('during 10 s without a network, a message says so, users can type, and buttons are disabled; the input arrives after reconnecting', async () => {
    const network = await openNetwork(host.url)
    await using opened = await open('edith', network.url)
    const { page, complaints } = opened
    await openOrder(page, 1052)
    const [status, messages] = [await hear(page, '#client-connection'), await hear(page, '#client-messages')]
    await page.click(input('notes'))
    const cutAt = performance.now()
    network.cut()
    await eventually(status).toBe('Connection lost. Your input will be sent when the connection is back. Reconnecting…')
    expect(await nameOfFocus(page)).toBe('e-order-notes.input')
    await page.keyboard.type('Written without a network.')
    await page.click(input('save'))
    await eventually(messages).toContain('You are not connected. Please try again when the connection is back.')
    await page.fill(input('customer'), 'Offline & Sons')
    expect(await faultsOfScreen(page, 'order-offline')).toEqual([])
    await page.focus(input('mail'))
    // Simulates an outage of 10 s, so there is no condition to wait for.
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, 10_000 - (performance.now() - cutAt))))
    expect(await page.inputValue(input('notes'))).toBe('Written without a network.')
    expect(await page.innerText('.unsaved')).toBe('Unsaved changes')
    network.restore()
    await eventually(status).toBe('You are connected again.')
    expect(await messages()).toBe('')
    expect([await page.inputValue(input('customer')), await nameOfFocus(page)]).toEqual([
      'Offline & Sons',
      'e-order-mail.input',
    ])
    await page.click(input('save'))
    await page.waitForSelector('text=Order saved.')
    expect(await status()).toBe('')
    expect(await readOrder(page, 1052)).toMatchObject({
      customer: 'Offline & Sons',
      notes: 'Written without a network.',
    })
    expect(complaints).toEqual([])
    network.close()
  })

  test('after a reload, the page still shows the form, the open tab and the unsaved values', async () => {
    await using opened = await open('marco')
    const { page, complaints } = opened
    await openOrder(page, 1051)
    await page.fill(input('notes'), 'Typed before the reload.')
    await page.getByRole('tab', { name: 'History' }).click()
    await eventually(() => page.locator('#client-progress').isHidden()).toBe(true)
    await page.reload()
    await page.waitForSelector('#f-order')
    expect(await page.innerText('h1')).toBe('Order O-1051')
    expect(await page.getByRole('tab', { name: 'History' }).getAttribute('aria-selected')).toBe('true')
    await page.getByRole('tab', { name: 'General' }).click()
    expect(await page.inputValue(input('notes'))).toBe('Typed before the reload.')
    expect(await page.innerText('.unsaved')).toBe('Unsaved changes')
    expect(await page.innerText('#client-connection')).toBe('')
    expect(complaints).toEqual([])
  })

  test('a sign-out ends the client: the page says so, Back does not show the client, and clients in other tabs close', async () => {
    await using opened = await open('vera')
    const { page, profile, complaints } = opened
    const other = await profile.newPage()
    await other.goto(`${host.url}${PAGE}`)
    await other.waitForSelector(row(1060))
    await openOrder(page, 1060)
    await Promise.all([page.waitForURL('**?signed-out'), page.getByRole('button', { name: 'Sign out' }).click()])
    expect(await page.innerText('h1')).toBe('You are signed out')
    await eventually(() => other.innerText('#client-connection')).toContain('You are signed out.')
    expect(await other.getByRole('button', { name: 'Sign out' }).count()).toBe(0)
    expect(await nameOfFocus(other)).toBe('Open again')
    expect(await faultsOfScreen(other, 'list-signed-out')).toEqual([])
    await page.goBack()
    await page.waitForSelector('#username')
    expect(await page.content()).not.toMatch(/O-1060|Hotel Oude Haven/)
    expect(complaints).toEqual([])
  })
})

test('with the keyboard only, a user can sign in, search, sort, select, approve, change, go back and sign out', async () => {
  await using opened = await openWatched(browser)
  const { page, complaints } = opened
  const { keyboard } = page
  await page.goto(`${host.url}${PAGE}`)
  await pressUntil(page, 'Tab', 'username')
  await keyboard.type('marco')
  await pressUntil(page, 'Tab', 'password')
  await keyboard.type(PASSWORD)
  await keyboard.press('Enter')
  await page.waitForSelector('#f-orders')

  await pressUntil(page, 'Tab', 'e-orders-search.input')
  await keyboard.type('aan de vliet')
  await keyboard.press('Enter')
  await eventually(() => column(page, 'Number')).toHaveLength(4)
  await pressUntil(page, 'Tab', 'e-orders-status.input')
  await keyboard.type('Approved')
  await eventually(() => column(page, 'Status')).toEqual(['Approved'])
  await keyboard.press('Home')
  await eventually(() => column(page, 'Number')).toHaveLength(4)
  await pressUntil(page, 'Shift+Tab', 'e-orders-search.input')
  await keyboard.press('Control+A')
  await keyboard.press('Delete')
  await keyboard.press('Enter')
  await page.waitForSelector(row(1060))

  await pressUntil(page, 'Tab', 'e-orders-list.sort.number')
  await keyboard.press('Enter')
  await page.waitForSelector('th[aria-sort=ascending]')
  await keyboard.press('Space')
  await page.waitForSelector('th[aria-sort=descending]')
  expect(await nameOfFocus(page)).toBe('e-orders-list.sort.number')
  await pressUntil(page, 'Tab', 'e-orders-list.next')
  await keyboard.press('Enter')
  await page.waitForSelector('text=Page 2 of 5')
  expect(await nameOfFocus(page)).toBe('e-orders-list.next')
  await pressUntil(page, 'Shift+Tab', 'e-orders-list.first')
  await keyboard.press('Space')
  await page.waitForSelector('text=Page 1 of 5')
  expect(await nameOfFocus(page)).toBe('e-orders-list.first')

  await pressUntil(page, 'Shift+Tab', 'e-orders-list.row.50.select')
  await keyboard.press('Space')
  await page.waitForSelector(`${row(1050)}.selected`)
  expect(await nameOfFocus(page)).toBe('e-orders-list.row.50.select')
  await pressUntil(page, 'Shift+Tab', 'e-orders-approve.input')
  await keyboard.press('Enter')
  await page.waitForSelector('text=0 of 1 approved. O-1050 is above €10,000.00')
  // The button is disabled because no row is selected, but it keeps the focus.
  expect(await page.isDisabled(filter('approve'))).toBe(true)
  expect(await nameOfFocus(page)).toBe('e-orders-approve.input')
  await pressUntil(page, 'Tab', 'e-orders-list.row.50.open')
  await keyboard.press('Enter')
  await page.waitForSelector('#f-order')
  expect(await nameOfFocus(page)).toBe('f-order.title')

  await pressUntil(page, 'Tab', 'e-order-pages.tab.general')
  await keyboard.press('ArrowRight')
  expect(await nameOfFocus(page)).toBe('e-order-pages.tab.past')
  expect(await page.isVisible('#e-order-history')).toBe(true)
  await keyboard.press('Home')
  await pressUntil(page, 'Tab', 'e-order-amount.input')
  await keyboard.press('Control+A')
  await keyboard.type('10999.5')
  await pressUntil(page, 'Tab', 'e-order-notes.input')
  await keyboard.type('Agreed with the customer.')
  await pressUntil(page, 'Shift+Tab', 'e-order-customer.input')
  await keyboard.press('Enter')
  await page.waitForSelector('text=Order saved.')
  expect(await nameOfFocus(page)).toBe('e-order-customer.input')
  await pressUntil(page, 'Tab', 'e-order-back.input')
  await keyboard.press('Space')
  await page.waitForSelector('#f-orders')

  await pressUntil(page, 'Tab', 'e-orders-list.row.50.select')
  await keyboard.press('Space')
  await page.waitForSelector(`${row(1050)}.selected`)
  await pressUntil(page, 'Shift+Tab', 'e-orders-approve.input')
  await keyboard.press('Space')
  await page.waitForSelector('text=1 of 1 approved.')
  await pressUntil(page, 'Tab', 'e-orders-language.input')
  await keyboard.press('Enter')
  await page.waitForSelector('html[lang=nl]')
  await pressUntil(page, 'Shift+Tab', 'Uitloggen')
  await Promise.all([page.waitForURL('**?signed-out'), keyboard.press('Enter')])
  expect(complaints).toEqual([])
})

describe('two users at the same time', () => {
  /** Parts of forms that only editors receive: labels, element and tab names, values. */
  const OF_EDITORS = [
    'New order',
    'e-orders-create',
    'e-orders-approve',
    '<bdi>Approve</bdi>',
    'e-order-save',
    '<bdi>Save</bdi>',
  ]
  const OF_APPROVERS = [
    'e-order-history',
    'e-order-pages.tab.past',
    '<bdi>History</bdi>',
    'Changed (UTC)',
    'sample',
    'marco',
  ]

  test('one user’s page and frames never contain data that only the other may see, and both see saved changes', async () => {
    await using vera = await open('vera')
    await using marco = await open('marco')
    for (const { page } of [vera, marco]) {
      await openOrder(page, 1049)
      expect(await page.innerText('h1')).toBe('Order O-1049')
    }
    // A form with a single tab shows no tab bar.
    expect(await vera.page.getByRole('tab').count()).toBe(0)
    expect(await marco.page.getByRole('tab').allInnerTexts()).toEqual(['General', 'History'])
    expect(await vera.page.locator('main :is(input, select, textarea):enabled').count()).toBe(0)
    expect(await vera.page.getByRole('button').allInnerTexts()).toEqual(['Sign out', 'Back to the list'])
    expect(await marco.page.getByRole('button').allInnerTexts()).toEqual(['Sign out', 'Save', 'Back to the list'])
    await marco.page.fill(input('notes'), 'Seen by both.')
    await marco.page.click(input('save'))
    await marco.page.waitForSelector('text=Order saved.')
    await backToList(vera.page)
    await openOrder(vera.page, 1049)
    expect(await vera.page.inputValue(input('notes'))).toBe('Seen by both.')
    expect(await faultsOfScreen(vera.page, 'order-to-read')).toEqual([])
    await backToList(vera.page)
    expect(await vera.page.getByRole('button', { name: 'Open' }).count()).toBe(1)
    expect(await faultsOfScreen(vera.page, 'list-to-read')).toEqual([])

    const carries = ({ sources, frames }: typeof vera, text: string) =>
      [...sources, ...frames().map((frame) => JSON.stringify(frame).replaceAll('\\"', '"'))].some((one) =>
        one.includes(text),
      )
    const only = [...OF_EDITORS, ...OF_APPROVERS]
    expect(only.filter((text) => !carries(marco, text))).toEqual([])
    expect(only.filter((text) => carries(vera, text))).toEqual([])
    expect([...vera.complaints, ...marco.complaints]).toEqual([])
  })
})

describe('every page passes axe in light and dark mode, at 320 and 1280 px, and nothing scrolls horizontally', () => {
  test('the list passes, with and without search results, and so does an order with its tabs', async () => {
    await using opened = await open()
    const { page, complaints } = opened
    expect(await faultsOfScreen(page, 'list')).toEqual([])
    await page.fill(filter('search'), 'nobody at all')
    await page.press(filter('search'), 'Enter')
    await page.waitForSelector('tr.no-rows')
    expect(await faultsOfScreen(page, 'list-empty')).toEqual([])
    await page.fill(filter('search'), '')
    await page.press(filter('search'), 'Enter')
    await page.waitForSelector(row(1060))
    await openOrder(page, 1060)
    expect(await faultsOfScreen(page, 'order')).toEqual([])
    await page.getByRole('tab', { name: 'History' }).click()
    await page.waitForSelector('#e-order-history tbody tr')
    expect(await faultsOfScreen(page, 'order-history')).toEqual([])
    expect(complaints).toEqual([])
  })

  test('the page for a user without any permission for the form passes', async () => {
    await addUser(host, 'nora', { permissions: ['Approve'] })
    await using opened = await openWatched(browser)
    const { page, complaints, frames } = opened
    await signIn(page, `${host.url}${PAGE}`, 'nora')
    expect(await page.innerText('main')).toContain('You don’t have permission to see this.')
    expect(await faultsOfScreen(page, 'no-access')).toEqual([])
    expect(JSON.stringify(frames())).not.toMatch(/e-orders|Customer|Hotel/)
    expect(complaints).toEqual([])
  })

  test('the notice that an administrator ended the session passes', async () => {
    await using opened = await open('edith')
    const { page, complaints } = opened
    await openOrder(page, 1060)
    const said = await hear(page, '#client-connection')
    const { items } = (await askAdmin(host, 'GET', 'sessions')) as { items: { id: string; username: string }[] }
    for (const { id } of items.filter(({ username }) => username === 'edith')) {
      await askAdmin(host, 'DELETE', `sessions/${id}`, undefined, 204)
    }
    await eventually(said).toContain('You are signed out.')
    expect(await nameOfFocus(page)).toBe('Open again')
    expect(await faultsOfScreen(page, 'order-closed')).toEqual([])
    await Promise.all([page.waitForSelector('#username'), page.keyboard.press('Enter')])
    expect(complaints).toEqual([])
  })
})

test('the solution’s style sheet is loaded after the platform’s and overrides it', async () => {
  await using opened = await open()
  const { page, sources } = opened
  const source = sources.at(-1) ?? ''
  expect(source.indexOf('/solution/orders/media/style.css')).toBeGreaterThan(source.indexOf('</style>'))
  // Only `solhost dev` adds the script that shows errors on the page.
  expect(source).toContain('/client.js?')
  expect(source).not.toMatch(/dev\.js|dev-errors|dev-strip/)
  expect((await fetch(`${host.url}/solution/orders/client.js`)).status).toBe(200)
  expect((await fetch(`${host.url}/solution/orders/dev.js`)).status).toBe(404)
  await openOrder(page, 1060)
  const color = () =>
    page.evaluate<string>(`getComputedStyle(document.getElementById('e-order-save.input')).backgroundColor`)
  expect(await color()).toBe('rgb(122, 46, 93)')
  await page.emulateMedia({ colorScheme: 'dark' })
  expect(await color()).toBe('rgb(240, 168, 207)')
})
