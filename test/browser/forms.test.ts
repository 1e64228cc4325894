import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Browser, BrowserContextOptions } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import type { RenderContext } from '../../host/clients/render/context.ts'
import { renderShell } from '../../host/clients/render/shell.ts'
import { createMessages } from '../../host/solutions/messages.ts'
import { makeClientScript } from '../../host/web/client-script.ts'
import type { FormDefinition } from '../../runtime/forms/form-definition.ts'
import { axeViolations, browserPath, launchBrowser } from '../support/browser.ts'
import { createFormHost } from '../support/form-host.ts'
import { SAMPLE_FORM } from '../support/sample-form.ts'

const NONCE = 'dGVzdA'
/** @see design, sections 3 and 8, "CSP" */
const POLICY =
  `default-src 'none'; script-src 'nonce-${NONCE}' 'strict-dynamic'; style-src 'self' 'nonce-${NONCE}'; ` +
  "img-src 'self' data:; font-src 'self'; connect-src 'self'; worker-src 'none'; form-action 'self'; base-uri 'none'; " +
  "frame-ancestors 'none'"

/** Where screenshots are kept, if anywhere: a folder's path. */
const SCREENSHOTS = process.env.FORM_SCREENSHOTS
const DRAWING =
  '<svg xmlns="http://www.w3.org/2000/svg" width="240" height="80"><rect width="240" height="80" fill="#0b5a73"/></svg>'

const other: FormDefinition = {
  title: 'Another form',
  layout: [
    {
      columns: [
        {
          elements: [{ type: 'button', name: 'back', label: 'Back', kind: 'secondary', visible: true, enabled: true }],
        },
      ],
    },
  ],
}

const context: RenderContext = {
  form: 'order',
  locale: 'en',
  messages: createMessages({}, 'en'),
  permissions: new Set(['Users']),
  isTesting: true,
  mediaBase: '/media/',
}

const input = (name: string) => `[id="e-order-${name}.input"]`
const row = (id: number) => `[id="e-order-orders.row.${id}"]`

if (browserPath === undefined) console.info('forms in a browser: there is no Chromium here')
else {
  describe('forms in a browser', () => {
    const script = makeClientScript()
    const shell = renderShell({
      locale: 'en',
      nonce: NONCE,
      title: 'Orders',
      scriptHref: '/client.js',
      socketHref: '/client',
      styleHref: '/media/style.css',
      user: {
        username: 'anna.de.vries@example.org',
        logoutAction: '/logout',
        changePasswordHref: '/password',
        formToken: 'token',
      },
    })
    const server = createServer((request, response) => {
      const answer = (type: string, body: string) =>
        void response.writeHead(200, { 'Content-Type': type, 'Content-Security-Policy': POLICY }).end(body)
      if (request.url === '/client.js') return answer('text/javascript', script.text)
      if (request.url === '/media/style.css') return answer('text/css', ':root { --of-solution: 1 }')
      if (request.url === '/media/logo.png') return answer('image/svg+xml', DRAWING)
      if (request.url === '/') return answer('text/html; charset=utf-8', shell)
      response.writeHead(404).end()
    })
    let browser: Browser
    let origin: string

    beforeAll(async () => {
      browser = await launchBrowser()
      await once(server.listen(0, '127.0.0.1'), 'listening')
      origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    })

    afterAll(async () => {
      await browser?.close()
      server.close()
    })

    /** Opens the sample form in a browser profile of its own; `complaints` is what its console says. */
    async function open(
      options: BrowserContextOptions = {},
      prepare: (host: ReturnType<typeof createFormHost>) => void = () => {},
    ) {
      const profile = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options })
      const page = await profile.newPage()
      const complaints: string[] = []
      page.on('console', (message) => complaints.push(message.text()))
      page.on('pageerror', (error) => complaints.push(error.message))
      const host = createFormHost(SAMPLE_FORM, context)
      prepare(host)
      await page.routeWebSocket(/\/client$/, (route) => host.connect(route))
      await page.goto(origin)
      await page.waitForSelector('#f-order')
      const focused = () => page.evaluate<string>('document.activeElement.id')
      /** Events but for those of focus, as [element, type, value]. */
      const events = () =>
        host.events.filter(({ type }) => !/Focus/.test(type)).map(({ element, type, value }) => [element, type, value])
      const eventCount = (count: number) => vi.waitFor(() => expect(events()).toHaveLength(count))
      return { page, host, complaints, focused, events, eventCount, [Symbol.asyncDispose]: () => profile.close() }
    }

    describe.each(['light', 'dark'] as const)('%s', (colorScheme) => {
      test.each([320, 1280])(
        'a window of %i px: axe finds nothing, nothing is cut off, the console is silent',
        async (width) => {
          await using opened = await open({ colorScheme, viewport: { width, height: 900 } }, (host) => {
            host.change('mail', { error: 'This is no e-mail address.', value: 'anna@' })
            host.change('orders', { selected: [2], sort: { column: 'customer', direction: 'ascending' } })
            host.change('remove', { enabled: false })
          })
          const { page, host, complaints } = opened
          host.send({ kind: 'message', text: 'The order was saved.', level: 'success' })
          host.send({ kind: 'message', text: 'The printer does not answer.', level: 'error' })
          await page.waitForSelector('.message.error')
          expect(await axeViolations(page)).toEqual([])
          expect(await page.evaluate('document.scrollingElement.scrollWidth')).toBeLessThanOrEqual(width)
          if (SCREENSHOTS !== undefined) {
            mkdirSync(SCREENSHOTS, { recursive: true })
            await page.screenshot({ path: `${SCREENSHOTS}/form-${colorScheme}-${width}.png`, fullPage: true })
          }
          await page.click('#e-order-details\\.tab\\.history')
          host.lose()
          await page.waitForSelector('#client-connection[data-state=lost]')
          expect(await axeViolations(page)).toEqual([])
          host.comeBack()
          expect(complaints).toEqual([])
        },
      )
    })

    test('the solution’s style sheet is loaded after the platform’s', async () => {
      await using opened = await open()
      expect(
        await opened.page.evaluate(`getComputedStyle(document.documentElement).getPropertyValue('--of-solution')`),
      ).toBe('1')
    })

    test('a value goes to the host when its input is left, as the type of the input has it', async () => {
      await using opened = await open()
      const { page, events, eventCount } = opened
      await page.fill(input('customer'), 'Börsig')
      await page.fill(input('amount'), '17.25')
      await page.fill(input('due'), '2027-01-31')
      await page.check(input('express'))
      await page.selectOption(input('country'), 'nl')
      await page.check('[id="e-order-priority.option.0"]')
      await page.fill(input('pin'), 'secret')
      await page.focus(input('country'))
      await page.selectOption(input('country'), '')
      await eventCount(8)
      expect(events()).toEqual([
        ['customer', 'onElementDataChange', 'Börsig'],
        ['amount', 'onElementDataChange', 17.25],
        ['due', 'onElementDataChange', '2027-01-31'],
        ['express', 'onElementDataChange', true],
        ['country', 'onElementDataChange', 'nl'],
        ['priority', 'onElementDataChange', '1'],
        ['pin', 'onElementDataChange', 'secret'],
        ['country', 'onElementDataChange', null],
      ])
    })

    test('what is typed goes before the press of a button, also by Enter', async () => {
      await using opened = await open()
      const { page, events, eventCount } = opened
      await page.fill(input('customer'), 'Zoe')
      await page.press(input('customer'), 'Enter')
      await eventCount(2)
      expect(events()).toEqual([
        ['customer', 'onElementDataChange', 'Zoe'],
        ['save', 'onAction', null],
      ])
    })

    test('focus is told of where the form asks for it, and nowhere else', async () => {
      await using opened = await open()
      const { page, host } = opened
      await page.focus(input('customer'))
      await page.focus(input('mail'))
      await page.focus(input('notes'))
      await vi.waitFor(() => expect(host.events).toHaveLength(2))
      expect(host.events.map(({ element, type }) => [element, type])).toEqual([
        ['customer', 'onElementFocusGained'],
        ['customer', 'onElementFocusLost'],
      ])
    })

    test('a text that is no number is said to be none, also after a patch', async () => {
      await using opened = await open()
      const { page, host, events, eventCount } = opened
      await page.focus(input('amount'))
      await page.keyboard.press('Control+A')
      await page.keyboard.type('1e')
      await page.keyboard.press('Tab')
      await eventCount(1)
      expect(events()).toEqual([['amount', 'onElementDataChange', null]])
      host.patch('amount')
      host.change('intro', { label: 'Patched' })
      host.patch('intro')
      await page.waitForFunction(`document.querySelector('#e-order-intro').textContent === 'Patched'`)
      expect(await page.textContent('[id="e-order-amount.error"]')).toBe('Enter a number.')
      expect(await page.getAttribute(input('amount'), 'aria-invalid')).toBe('true')
    })

    test('a patch keeps focus, caret and what is being typed, and changes the rest', async () => {
      await using opened = await open()
      const { page, host, focused } = opened
      await page.click(input('customer'))
      await page.keyboard.press('End')
      await page.keyboard.type(' and sons')
      await page.keyboard.press('ArrowLeft')
      await page.keyboard.press('ArrowLeft')
      host.change('customer', { value: 'From the host', label: 'Company', error: 'Too long' })
      host.change('mail', { value: 'host@example.org' })
      host.patch('customerPanel')
      await page.waitForFunction(`document.querySelector('[id="e-order-mail.input"]').value === 'host@example.org'`)
      expect(await focused()).toBe('e-order-customer.input')
      await page.keyboard.type('X')
      expect(await page.inputValue(input('customer'))).toBe('Acme and soXns')
      expect(await page.textContent('#e-order-customer label')).toBe('Company *')
      await page.keyboard.press('Tab')
      await vi.waitFor(() => expect(host.view.elements.get('customer')?.value).toBe('Acme and soXns'))
    })

    test('an answer to an earlier event does not take back what was entered since', async () => {
      await using opened = await open()
      const { page, host, eventCount } = opened
      await page.check(input('express'))
      await eventCount(1)
      host.hold()
      await page.fill(input('customer'), 'Second')
      await page.selectOption(input('country'), 'de')
      await page.check('[id="e-order-priority.option.2"]')
      host.change('intro', { label: 'Of the first' })
      host.showForm()
      await page.waitForFunction(`document.querySelector('#e-order-intro').textContent === 'Of the first'`)
      expect(await page.inputValue(input('customer'))).toBe('Second')
      expect(await page.inputValue(input('country'))).toBe('de')
      expect(await page.isChecked('[id="e-order-priority.option.2"]')).toBe(true)
      host.release()
      await eventCount(4)
    })

    test('a refused value is taken back by the answer, with its reason beside it', async () => {
      await using opened = await open()
      const { page, host, eventCount } = opened
      await page.fill(input('customer'), 'Refused')
      await page.focus(input('country'))
      await page.selectOption(input('country'), 'de')
      await eventCount(2)
      host.change('customer', { value: 'Acme', error: 'We do not know them.' })
      host.change('country', { value: 'be' })
      host.patch('customer', 'country')
      await page.waitForSelector('text=We do not know them.')
      expect(await page.inputValue(input('customer'))).toBe('Acme')
      expect(await page.inputValue(input('country'))).toBe('be')
      expect(await page.getAttribute(input('customer'), 'aria-describedby')).toContain('e-order-customer.error')
    })

    test('a password stays in its input until the host empties it', async () => {
      await using opened = await open()
      const { page, host, eventCount } = opened
      await page.fill(input('pin'), 'secret')
      await page.focus(input('notes'))
      await eventCount(1)
      host.showForm()
      await page.waitForSelector(`${input('pin')}[data-kept]`)
      expect(await page.inputValue(input('pin'))).toBe('secret')
      host.change('pin', { value: '' })
      host.patch('pin')
      await page.waitForSelector(`${input('pin')}:not([data-kept])`)
      expect(await page.inputValue(input('pin'))).toBe('')
    })

    test('tabs: one stop for the Tab key, arrows between them, and what is typed in a closed one stays', async () => {
      await using opened = await open()
      const { page, host, focused, eventCount, events } = opened
      await page.focus('[id="e-order-details.tab.list"]')
      await page.keyboard.press('ArrowRight')
      expect(await focused()).toBe('e-order-details.tab.history')
      await page.keyboard.press('Tab')
      expect(await focused()).toBe('e-order-details.panel.history')
      await page.keyboard.press('Tab')
      expect(await focused()).toBe('e-order-remark.input')
      await page.keyboard.type('kept')
      await page.keyboard.press('Shift+Tab')
      await page.keyboard.press('Shift+Tab')
      expect(await focused()).toBe('e-order-details.tab.history')
      await page.keyboard.press('Home')
      expect(await page.isVisible(input('orders'))).toBe(true)
      await page.keyboard.press('End')
      await eventCount(4)
      expect(events().map(([, type, value]) => [type, value])).toEqual([
        ['showTab', 'history'],
        ['onElementDataChange', 'kept'],
        ['showTab', 'list'],
        ['showTab', 'history'],
      ])
      host.showForm()
      expect(await page.inputValue(input('remark'))).toBe('kept')
      expect(await page.getAttribute('[id="e-order-details.tab.history"]', 'aria-selected')).toBe('true')
    })

    test('a table by keyboard: sorted, a row selected, a page turned, a row opened, focus kept each time', async () => {
      await using opened = await open()
      const { page, host, focused, events, eventCount } = opened
      await page.focus('[id="e-order-orders.sort.total"]')
      await page.keyboard.press('Enter')
      await page.waitForSelector('th[aria-sort=ascending]')
      await page.keyboard.press('Enter')
      await page.waitForSelector('th[aria-sort=descending]')
      expect(await focused()).toBe('e-order-orders.sort.total')
      await page.focus(`${row(45)} input`)
      await page.keyboard.press('Space')
      await page.waitForSelector(`${row(45)}.selected`)
      expect(await focused()).toBe('e-order-orders.row.45.select')
      await page.focus('[id="e-order-orders.next"]')
      await page.keyboard.press('Enter')
      await page.waitForSelector('text=Page 2 of 3')
      await page.keyboard.press('Enter')
      await page.waitForSelector('text=Page 3 of 3')
      expect(await focused()).toBe('e-order-orders.next')
      await page.keyboard.press('Enter')
      await page.focus(`${row(1)} button`)
      await page.keyboard.press('Enter')
      await eventCount(6)
      expect(events()).toEqual([
        ['orders', 'onSort', { column: 'total', direction: 'ascending' }],
        ['orders', 'onSort', { column: 'total', direction: 'descending' }],
        ['orders', 'onRecordSelection', { rows: [45], selected: true }],
        ['orders', 'showPage', 2],
        ['orders', 'showPage', 3],
        ['orders', 'onAction', 1],
      ])
      expect(host.view.elements.get('orders')?.selected).toEqual([45])
    })

    test('all rows of a page are selected at once, and a row is opened by a double click', async () => {
      await using opened = await open()
      const { page, events, eventCount } = opened
      await page.check('[id="e-order-orders.all"]')
      await page.waitForSelector(`${row(20)}.selected`)
      await page.dblclick(`${row(3)} td:last-child`)
      await eventCount(2)
      expect(events()[0]).toEqual([
        'orders',
        'onRecordSelection',
        { rows: Array.from({ length: 20 }, (_, index) => index + 1), selected: true },
      ])
      expect(events()[1]).toEqual(['orders', 'onAction', 3])
    })

    test('the Tab key reaches every control of the form in the order of the page', async () => {
      await using opened = await open()
      const { page, focused } = opened
      await page.focus(input('customer'))
      const reached: string[] = []
      while (reached.length < 16) {
        reached.push((await focused()).replace(/^e-order-/, ''))
        await page.keyboard.press('Tab')
        // A date has parts that the Tab key stops at one by one.
        while ((await focused()).replace(/^e-order-/, '') === reached.at(-1)) await page.keyboard.press('Tab')
      }
      expect(reached).toEqual([
        'customer.input',
        'mail.input',
        'amount.input',
        'due.input',
        'country.input',
        'notes.input',
        'express.input',
        'pin.input',
        'priority.option.1',
        'manual.input',
        'more.input',
        'save.input',
        'cancel.input',
        'remove.input',
        'details.tab.list',
        'details.panel.list',
      ])
    })

    test('without a connection: said so, what is entered is kept and sent later, presses are not taken', async () => {
      await using opened = await open()
      const { page, host, events, eventCount, complaints } = opened
      host.lose()
      await page.waitForSelector('text=The connection is lost.')
      await page.fill(input('customer'), 'Offline')
      await page.fill(input('mail'), 'first@example.org')
      await page.fill(input('mail'), 'second@example.org')
      await page.click(input('save'))
      await page.waitForSelector('text=This needs the connection.')
      await page.focus(input('notes'))
      await page.keyboard.type('Still typing. ')
      host.comeBack()
      await page.waitForSelector('text=The connection is back.')
      await eventCount(2)
      expect(events()).toEqual([
        ['customer', 'onElementDataChange', 'Offline'],
        ['mail', 'onElementDataChange', 'second@example.org'],
      ])
      expect(await page.inputValue(input('customer'))).toBe('Offline')
      expect(await page.inputValue(input('notes'))).toContain('Still typing. ')
      expect(complaints).toEqual([])
    })

    test('an event whose answer was lost with the connection takes effect once', async () => {
      await using opened = await open()
      const { page, host, eventCount, events } = opened
      host.hold()
      await page.click(input('save'))
      host.lose()
      await page.waitForSelector('text=The connection is lost.')
      host.release()
      host.comeBack()
      await page.waitForSelector('text=The connection is back.')
      await page.click(input('cancel'))
      await eventCount(2)
      expect(events().map(([element]) => element)).toEqual(['save', 'cancel'])
    })

    test('a progress bar shows while an answer is awaited, and goes with it', async () => {
      await using opened = await open()
      const { page, host } = opened
      host.hold()
      await page.click(input('save'))
      await page.waitForSelector('#client-progress:not([hidden])')
      host.release()
      await page.waitForSelector('#client-progress[hidden]', { state: 'attached' })
    })

    test('another form takes the place, its title in window and focus', async () => {
      await using opened = await open()
      const { page, host, focused } = opened
      const next = createFormHost(other, { ...context, form: 'other' })
      await page.fill(input('customer'), 'Not sent yet')
      const sent: unknown[] = []
      next.connect({ onMessage: () => {}, send: (text: string) => sent.push(JSON.parse(text)) } as never)
      next.showForm()
      host.send(sent[0] as never)
      await page.waitForSelector('#f-other')
      expect(await page.title()).toBe('Another form')
      expect(await focused()).toBe('f-other.title')
      expect(await page.isVisible('#f-order')).toBe(false)
    })

    test('messages are read out by a live region, are text, and can be closed', async () => {
      await using opened = await open()
      const { page, host } = opened
      host.send({ kind: 'message', text: '<img src=x onerror=alert(1)>', level: 'info' })
      host.send({ kind: 'message', text: 'It failed.', level: 'error' })
      await page.waitForSelector('[role=alert] .message')
      expect(await page.textContent('[role=status] .message p')).toBe('<img src=x onerror=alert(1)>')
      await page.click('.message.error .dismiss')
      expect(await page.locator('.message.error').count()).toBe(0)
      await page.click(input('save'))
      await vi.waitFor(async () => expect(await page.locator('.message').count()).toBe(0))
    })

    test('a client that is over says why, takes nothing more and leads on', async () => {
      await using opened = await open()
      const { page, host } = opened
      host.send({ kind: 'closed', why: 'signed-out' })
      await page.waitForSelector('text=You are signed out.')
      const usable =
        'main :is(button, select, input[type=checkbox], input[type=radio]):enabled:not([role=tab]), main :is(input, textarea):read-write'
      expect(await page.locator(usable).count()).toBe(0)
      expect(await page.getAttribute('#client-connection a', 'href')).toBe(`${origin}/`)
      expect(await axeViolations(page)).toEqual([])
      expect(await page.evaluate('document.activeElement.textContent')).toBe('Open again')
      expect(host.hellos).toHaveLength(1)
    })

    test('the page goes where the host sends it', async () => {
      await using opened = await open()
      opened.host.send({ kind: 'go', href: '/media/logo.png' })
      await opened.page.waitForURL(`${origin}/media/logo.png`)
    })

    test('hostile texts run nothing and stay text', async () => {
      const hostile = '"><img src=x onerror="console.error(1)"><script>console.error(2)</script>'
      await using opened = await open({}, (host) => {
        for (const name of ['customer', 'mail', 'notes', 'save', 'intro', 'orders', 'country']) {
          host.change(name, { value: hostile, label: hostile, hint: hostile, error: hostile, placeholder: hostile })
        }
        host.change('orders', { rows: [{ id: hostile, customer: hostile }], selected: [hostile] })
      })
      const { page, host, complaints, events, eventCount } = opened
      host.patch('customerPanel', 'orders', 'save', 'intro')
      await page.click('[data-open]')
      await eventCount(1)
      expect(events()[0]).toEqual(['orders', 'onAction', hostile])
      expect(await page.inputValue(input('customer'))).toBe(hostile)
      expect(await page.locator('main script, main img:not([src="/media/logo.png"])').count()).toBe(0)
      expect(complaints).toEqual([])
    })
  })
}
