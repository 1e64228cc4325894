import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { WebSocketServer } from 'ws'
import { createMessages } from '../../base/bundles/messages.ts'
import type { RenderContext } from '../../host/clients/render/context.ts'
import { renderForm } from '../../host/clients/render/form.ts'
import { renderShell, renderTexts, type ShellModel } from '../../host/clients/render/shell.ts'
import type { HostFrame } from '../../host/web/frames.ts'
import { makeClientScript } from '../../host/web/scripts.ts'
import type { ElementDefinition, FormDefinition } from '../../runtime/forms/form-definition.ts'
import {
  axeViolations,
  browserPath,
  closeContexts,
  complaintsOf,
  launchWholeBrowser,
  sharedBrowser,
  untilTrue,
} from '../support/browser.ts'
import { faultsOfScreen } from '../support/client-browser.ts'
import { CLIENT, createFormHost, routeOf } from '../support/form-host.ts'
import { EVERY_ELEMENT, SAMPLE_FORM } from '../support/sample-form.ts'
import { waitUntil } from '../support/wait-until.ts'

const NONCE = 'dGVzdA'
const POLICY =
  `default-src 'none'; script-src 'nonce-${NONCE}' 'strict-dynamic'; style-src 'self' 'nonce-${NONCE}'; ` +
  "img-src 'self' data:; font-src 'self'; connect-src 'self'; worker-src 'none'; form-action 'self'; base-uri 'none'; " +
  "frame-ancestors 'none'"

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

function otherForm(): HostFrame {
  const form = renderForm(other, { elements: new Map() }, { ...context, form: 'other' })
  if (form === null) throw new TypeError('the form needs no permission')
  return { kind: 'form', seq: 0, ...form }
}

const shown = { visible: true, enabled: true }
const LONG_BADGE = { value: 'extension', label: 'Wartungsvertragsverlängerung', tone: 'info' } as const

/** A table with more columns than fit into a 1280 px window, in a tab that is initially closed. */
const wide: FormDefinition = {
  layout: [
    {
      columns: [
        {
          elements: [
            {
              ...shown,
              type: 'tabs',
              name: 'views',
              label: 'Views',
              value: 'short',
              tabs: [
                { name: 'short', label: 'Short', layout: [] },
                {
                  name: 'long',
                  label: 'Long',
                  layout: [
                    {
                      columns: [
                        {
                          elements: [
                            {
                              ...shown,
                              type: 'table',
                              name: 'years',
                              label: 'Years',
                              columns: Array.from({ length: 30 }, (_, year) => ({
                                name: `y${year}`,
                                label: `Year ${2000 + year}`,
                                type: 'text',
                                sortable: false,
                                ...(year === 2 ? { badges: [LONG_BADGE] } : {}),
                              })),
                              pageSize: 20,
                              selection: 'single',
                              value: [{ id: 1, y0: 'A'.repeat(300), y2: LONG_BADGE.value, y29: 'last' }],
                            },
                          ],
                        },
                      ],
                    },
                  ],
                },
              ],
            },
          ],
        },
      ],
    },
  ],
}

/** A form with two primary buttons: one in an initially closed tab, and one that is always visible. */
const twoPrimaries: FormDefinition = {
  layout: [
    {
      columns: [
        {
          elements: [
            {
              ...shown,
              type: 'tabs',
              name: 'steps',
              label: 'Steps',
              value: 'one',
              tabs: [
                { name: 'one', label: 'One', layout: [{ columns: [{ elements: [textInput('first')] }] }] },
                { name: 'two', label: 'Two', layout: [{ columns: [{ elements: [primary('hidden')] }] }] },
              ],
            },
            primary('seen'),
          ],
        },
      ],
    },
  ],
}

function textInput(name: string): ElementDefinition {
  return { ...shown, type: 'text', name, label: name, required: false, maxLength: 100 }
}

function primary(name: string): ElementDefinition {
  return { ...shown, type: 'button', name, label: name, kind: 'primary', onAction: 'press' }
}

const input = (name: string) => `[id="e-order-${name}.input"]`
const row = (id: number) => `[id="e-order-orders.row.${id}"]`

if (browserPath === undefined) console.info('forms in a browser: there is no Chromium here')
else {
  describe('forms in a browser', () => {
    const script = makeClientScript()
    const model: ShellModel = {
      locale: 'en',
      nonce: NONCE,
      title: 'Orders',
      scriptHref: '/client.js',
      socketHref: '/client?argument=4711',
      styleHref: '/media/style.css',
      user: {
        username: 'anna.de.vries@example.org',
        logoutAction: '/logout',
        accountHref: '/account',
        formToken: 'token',
      },
    }
    const pages: Readonly<Record<string, string>> = {
      '/': renderShell(model),
      '/login?order=4711': renderShell({
        ...model,
        user: null,
        signIn: { action: '/login?order=4711', formToken: 'login token' },
      }),
      '/signed-out': '<title>Signed out</title><link rel="icon" href="data:,">',
    }
    /** Pending POST requests from pages. Each test responds to its own. */
    const posts: { readonly url: string; readonly fields: object; readonly response: ServerResponse }[] = []
    const server = createServer(async (request, response) => {
      const url = request.url ?? ''
      const answer = (type: string, body: string) =>
        void response.writeHead(200, { 'Content-Type': type, 'Content-Security-Policy': POLICY }).end(body)
      if (request.method === 'POST') {
        const fields = Object.fromEntries(new URLSearchParams(await text(request)))
        return void posts.push({ url, fields, response })
      }
      if (url === '/client.js') return answer('text/javascript', script.text)
      if (url === '/media/style.css') return answer('text/css', ':root { --of-solution: 1 }')
      if (url === '/media/logo.png') return answer('image/svg+xml', DRAWING)
      if (pages[url] !== undefined) return answer('text/html; charset=utf-8', pages[url])
      response.writeHead(404).end()
    })
    const sockets = new WebSocketServer({ server, path: '/client' })
    let browser: Browser
    let origin: string
    /** Waits for the next POST request. */
    const nextPost = () =>
      waitUntil(() => {
        const post = posts.shift()
        if (post === undefined) throw new Error('nothing was posted')
        return post
      })
    const redirect = (response: ServerResponse, to: string) => response.writeHead(303, { Location: to }).end()
    const kept = (page: Page) => page.evaluate<object>('({ ...sessionStorage })')

    beforeAll(async () => {
      browser = await sharedBrowser()
      await once(server.listen(0, '127.0.0.1'), 'listening')
      origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    })

    afterAll(async () => {
      await closeContexts(browser)
      sockets.close()
      server.close()
    })

    const VIEWPORT = { width: 1280, height: 900 }
    /** Handles the pages' WebSocket connections. */
    let formHost: ReturnType<typeof createFormHost>
    /** The page shared by tests without special options, because opening a page takes longer than most tests. */
    let usual: Page | undefined

    async function newPage(within: Browser, options: BrowserContextOptions, script: string, isRouted: boolean) {
      const profile = await within.newContext({ viewport: VIEWPORT, ...options })
      await profile.addInitScript(script)
      if (isRouted) await profile.routeWebSocket(/\/client\?argument=4711$/, (route) => formHost.connect(route))
      else sockets.removeAllListeners().on('connection', (socket) => formHost.connect(routeOf(socket)))
      return profile.newPage()
    }

    /** @returns the shared page, reset to its initial state */
    async function usualPage(): Promise<Page> {
      usual ??= await newPage(browser, {}, '', true)
      for (const page of usual.context().pages()) if (page !== usual) await page.close()
      usual.removeAllListeners()
      await usual.setViewportSize(VIEWPORT)
      await usual.goto(`${origin}/signed-out`)
      await usual.evaluate('sessionStorage.clear(), localStorage.clear()')
      return usual
    }

    /** Opens the sample form, in its own browser profile if it has options; `complaints` are its console messages. */
    async function open(
      options: BrowserContextOptions = {},
      prepare: (host: ReturnType<typeof createFormHost>) => void = () => {},
      { definition = SAMPLE_FORM, path = '/', within = browser, script = '', isRouted = true } = {},
    ) {
      const isUsual = Object.keys(options).length === 0 && within === browser && script === '' && isRouted
      const page = isUsual ? await usualPage() : await newPage(within, options, script, isRouted)
      const profile = page.context()
      const complaints = complaintsOf(page)
      const host = createFormHost(definition, context)
      prepare(host)
      formHost = host
      await page.goto(`${origin}${path}`)
      await page.waitForSelector('#f-order')
      const focused = () => page.evaluate<string>('document.activeElement.id')
      /** All events except focus events, as [element, type, value]. */
      const events = () =>
        host.events.filter(({ type }) => !/Focus/.test(type)).map(({ element, type, value }) => [element, type, value])
      const eventCount = (count: number) => waitUntil(() => expect(events()).toHaveLength(count))
      return {
        profile,
        page,
        host,
        complaints,
        focused,
        events,
        eventCount,
        [Symbol.asyncDispose]: async () => {
          if (!isUsual) await profile.close()
        },
      }
    }

    test('axe finds no violation, nothing is cut off, and the console is empty, in light and dark mode, at 320 and 1280 px', async () => {
      await using opened = await open({}, (host) => {
        host.change('mail', { error: 'This is no email address.', value: 'anna@' })
        host.change('orders', { selected: [2], sort: { column: 'customer', direction: 'ascending' } })
        host.change('remove', { enabled: false })
      })
      const { page, host, complaints } = opened
      host.send({ kind: 'message', text: 'The order was saved.', level: 'success' })
      host.send({ kind: 'message', text: 'The printer does not answer.', level: 'error' })
      await page.waitForSelector('.message.error')
      expect(await faultsOfScreen(page, 'form')).toEqual([])
      await page.click('#e-order-details\\.tab\\.history')
      host.lose()
      await page.waitForSelector('#client-connection[data-state=lost]')
      expect(await faultsOfScreen(page, 'form-lost')).toEqual([])
      host.comeBack()
      expect(complaints).toEqual([])
    })

    test('until the first form arrives, a placeholder appears after a moment, and the page is busy', async () => {
      const page = await usualPage()
      formHost = createFormHost(SAMPLE_FORM, context)
      formHost.lose()
      await page.goto(`${origin}/`)
      await page.waitForSelector('main[aria-busy=true] .bars')
      expect(await faultsOfScreen(page, 'opening')).toEqual([])
      formHost.comeBack()
      await page.evaluate(`dispatchEvent(new Event('online'))`)
      await page.waitForSelector('main:not([aria-busy]) #f-order')
      expect(await page.locator('.bars').count()).toBe(0)
    })

    test('the solution’s style sheet is loaded after the platform’s', async () => {
      await using opened = await open()
      expect(
        await opened.page.evaluate(`getComputedStyle(document.documentElement).getPropertyValue('--of-solution')`),
      ).toBe('1')
    })

    test('when the focus leaves an input, its value is sent to the host with the input’s type', async () => {
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

    test('typed text is sent before a button press, even if the user presses Enter', async () => {
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

    test('Enter presses the first visible primary button once, but not from a textarea or a row', async () => {
      await using opened = await open({}, () => {}, { definition: twoPrimaries })
      const { page, events, eventCount } = opened
      await page.fill(input('first'), 'Zoe')
      await page.keyboard.press('Enter')
      await eventCount(2)
      await page.keyboard.down('Enter')
      await page.keyboard.down('Enter')
      await page.keyboard.up('Enter')
      await page.click('[id="e-order-steps.tab.two"]')
      await page.focus('[id="e-order-hidden.input"]')
      await page.keyboard.press('Enter')
      await eventCount(5)
      expect(events()).toEqual([
        ['first', 'onElementDataChange', 'Zoe'],
        ['seen', 'onAction', null],
        ['seen', 'onAction', null],
        ['steps', 'showTab', 'two'],
        ['hidden', 'onAction', null],
      ])
      await using sample = await open()
      await sample.page.press(input('notes'), 'Enter')
      await sample.page.press(`${row(2)} input`, 'Enter')
      await sample.page.click(input('cancel'))
      await sample.eventCount(2)
      expect(sample.events().map(([element]) => element)).toEqual(['notes', 'cancel'])
    })

    test('Escape does not close or revert anything', async () => {
      await using opened = await open()
      const { page, host, events } = opened
      host.send({ kind: 'message', text: 'It failed.', level: 'error' })
      await page.waitForSelector('.message.error')
      await page.fill(input('customer'), 'Zoe')
      for (const name of ['customer', 'country', 'amount']) await page.press(input(name), 'Escape')
      expect(await page.inputValue(input('customer'))).toBe('Zoe')
      expect(await page.isVisible('.message.error')).toBe(true)
      expect(await page.isVisible('#f-order')).toBe(true)
      expect(events()).toEqual([['customer', 'onElementDataChange', 'Zoe']])
    })

    test('focus events are sent only if the form listens to them', async () => {
      await using opened = await open()
      const { page, host } = opened
      await page.focus(input('customer'))
      await page.focus(input('mail'))
      await page.focus(input('notes'))
      await waitUntil(() => expect(host.events).toHaveLength(2))
      expect(host.events.map(({ element, type }) => [element, type])).toEqual([
        ['customer', 'onElementFocusGained'],
        ['customer', 'onElementFocusLost'],
      ])
    })

    test('text that is not a number shows an error, even after a patch', async () => {
      await using opened = await open()
      const { page, host, events, eventCount } = opened
      await page.focus(input('amount'))
      await page.keyboard.press('Control+A')
      await page.keyboard.type('1e')
      await page.keyboard.press('Tab')
      await eventCount(1)
      expect(events()).toEqual([['amount', 'onElementDataChange', null]])
      expect(host.events).toMatchObject([{ isUnreadable: true }])
      host.patch('amount')
      host.change('intro', { label: 'Patched' })
      host.patch('intro')
      await untilTrue(page, `document.querySelector('#e-order-intro').textContent === 'Patched'`)
      expect(await page.textContent('[id="e-order-amount.error"]')).toBe('Enter a number.')
      expect(await page.getAttribute(input('amount'), 'aria-invalid')).toBe('true')
    })

    test('a patch keeps the focus, the caret and unsent input, and updates everything else', async () => {
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
      await untilTrue(page, `document.querySelector('[id="e-order-mail.input"]').value === 'host@example.org'`)
      expect(await focused()).toBe('e-order-customer.input')
      await page.keyboard.type('X')
      expect(await page.inputValue(input('customer'))).toBe('Acme and soXns')
      expect(await page.textContent('#e-order-customer label')).toBe('Company *')
      await page.keyboard.press('Tab')
      await waitUntil(() => expect(host.view.elements.get('customer')?.value).toBe('Acme and soXns'))
    })

    test('a response to an earlier event does not revert later input', async () => {
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
      await untilTrue(page, `document.querySelector('#e-order-intro').textContent === 'Of the first'`)
      expect(await page.inputValue(input('customer'))).toBe('Second')
      expect(await page.inputValue(input('country'))).toBe('de')
      expect(await page.isChecked('[id="e-order-priority.option.2"]')).toBe(true)
      host.release()
      await eventCount(4)
    })

    test('a rejected value is reverted by the response, and the reason is shown', async () => {
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

    test('a password stays in its input until the host clears it', async () => {
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

    test('tabs have one Tab stop, arrow keys move between them, and text typed in a tab stays when it is closed', async () => {
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

    test('a response to an event from before a tab was opened does not close the tab, not even briefly; the tab keeps the focus', async () => {
      await using opened = await open()
      const { page, host, focused } = opened
      await page.focus('[id="e-order-details.tab.list"]')
      host.hold()
      await page.keyboard.press('ArrowRight')
      await page.keyboard.press('Home')
      await page.keyboard.press('Tab')
      expect(await focused()).toBe('e-order-details.panel.list')
      await page.evaluate(`window.lost = 0; addEventListener('focusout', () => window.lost++)`)
      host.change('details', { value: 'history' })
      host.patch('details')
      host.send({ kind: 'message', level: 'info', text: 'All of it is here.' })
      await page.waitForSelector('text=All of it is here.')
      expect(await focused()).toBe('e-order-details.panel.list')
      expect(await page.evaluate('window.lost')).toBe(0)
      host.release()
    })

    test('a table works by keyboard: sorting, selecting a row, turning a page and opening a row all keep the focus', async () => {
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

    test('all rows on a page can be selected together, and a double click opens a row', async () => {
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

    test('the Tab key reaches every control in the form in page order', async () => {
      await using opened = await open()
      const { page, focused } = opened
      await page.focus(input('customer'))
      const reached: string[] = []
      while (reached.length < 16) {
        reached.push((await focused()).replace(/^e-order-/, ''))
        await page.keyboard.press('Tab')
        // A date input has several tab stops, one for each part.
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

    test('without a connection, a message says so, input is sent later, and buttons cannot be pressed', async () => {
      await using opened = await open()
      const { page, host, events, eventCount, complaints } = opened
      host.lose()
      await page.waitForSelector('text=Connection lost.')
      await page.fill(input('customer'), 'Offline')
      await page.fill(input('mail'), 'first@example.org')
      await page.fill(input('mail'), 'second@example.org')
      await page.click(input('save'))
      await page.waitForSelector('text=You are not connected.')
      await page.focus(input('notes'))
      await page.keyboard.type('Still typing. ')
      host.comeBack()
      await page.waitForSelector('text=You are connected again.')
      await eventCount(2)
      expect(events()).toEqual([
        ['customer', 'onElementDataChange', 'Offline'],
        ['mail', 'onElementDataChange', 'second@example.org'],
      ])
      expect(await page.inputValue(input('customer'))).toBe('Offline')
      expect(await page.inputValue(input('notes'))).toContain('Still typing. ')
      await page.click('[id="e-order-details.tab.history"]')
      expect(await page.textContent('#client-connection')).toBe('')
      expect(complaints).toEqual([])
    })

    describe('the client of a tab', () => {
      const notice = '#client-connection[data-state=reopened]'

      test('a reload resumes the client without a message; another tab gets its own client', async () => {
        await using opened = await open()
        const { profile, page, host } = opened
        expect(await kept(page)).toEqual({ 'client /client': CLIENT })
        await page.reload()
        await page.waitForSelector('#f-order')
        const second = await profile.newPage()
        await second.goto(origin)
        await waitUntil(() => expect(host.hellos).toHaveLength(3))
        expect(host.hellos.map(({ client }) => client)).toEqual([null, CLIENT, null])
        expect(new Set(host.hellos.map(({ page }) => page)).size).toBe(3)
        expect(await page.textContent('#client-connection')).toBe('')
      })

      test('without session storage, the page remembers its client until the user leaves the page', async () => {
        const script = `Object.defineProperty(window, 'sessionStorage', { get() { throw new DOMException('blocked', 'SecurityError') } })`
        await using opened = await open({}, () => {}, { script })
        const { page, host, complaints } = opened
        host.lose()
        await page.waitForSelector('text=Connection lost.')
        host.comeBack()
        await page.waitForSelector('text=You are connected again.')
        await page.reload()
        await page.waitForSelector('#f-order')
        expect(host.hellos.map(({ client }) => client)).toEqual([null, CLIENT, null])
        expect(complaints).toEqual([])
      })

      test('a client id that another script replaced in the storage is not sent', async () => {
        await using opened = await open()
        const { page, host } = opened
        await page.evaluate(`sessionStorage.setItem('client /client', '"}{' + 'x'.repeat(40))`)
        await page.reload()
        await page.waitForSelector('#f-order')
        expect(host.hellos.map(({ client }) => client)).toEqual([null, null])
      })

      test('if the client is reopened while the page is open, a message says that input is lost, and the user can continue', async () => {
        await using opened = await open()
        const { page, host, focused, events, complaints } = opened
        host.hold()
        await page.click('[id="e-order-details.tab.history"]')
        await page.fill(input('pin'), 'sent')
        await page.click(input('save'))
        // A button press starts a timer that clears earlier messages. Chromium may delay timers after input, so wait
        // for it.
        await page.evaluate('new Promise((resolve) => setTimeout(resolve))')
        await page.fill(input('notes'), 'Not sent')
        host.beginAnew()
        host.send({ kind: 'reopened' })
        await page.waitForSelector(notice)
        expect(await page.getAttribute('#client-connection', 'role')).toBe('status')
        expect(await page.textContent('#client-connection')).toBe('This page had to restart. Unsaved changes are lost.')
        await page.keyboard.type('Typed into a form that is no more')
        expect(await page.evaluate(`document.querySelector('main').inert`)).toBe(true)
        host.showForm()
        await page.waitForSelector('main:not([inert])')
        expect(await page.inputValue(input('notes'))).toBe('Deliver at the back door.')
        expect(await page.inputValue(input('pin'))).toBe('')
        expect(await page.isVisible(input('orders'))).toBe(true)
        expect(await focused()).toBe('f-order.title')
        expect(await axeViolations(page)).toEqual([])
        expect(await page.isVisible(notice)).toBe(true)
        expect(await page.isHidden('#client-progress')).toBe(true)
        expect(events()).toEqual([])
        host.forget()
        await page.click(input('cancel'))
        await opened.eventCount(1)
        expect(events()).toEqual([['cancel', 'onAction', null]])
        expect(host.events.at(-1)?.seq).toBe(4)
        expect(await page.textContent('#client-connection')).toBe('')
        expect(complaints).toEqual([])
      })

      test('if the client is reopened during a connection loss, no old events are sent, and the notice stays during the next loss', async () => {
        await using opened = await open()
        const { page, host, events } = opened
        host.lose()
        await page.waitForSelector('text=Connection lost.')
        await page.fill(input('customer'), 'Offline')
        await page.focus(input('notes'))
        await page.keyboard.type('Still typing. ')
        const id = host.beginAnew()
        host.comeBack()
        await page.waitForSelector(notice)
        await waitUntil(async () => expect(await page.inputValue(input('customer'))).toBe('Acme'))
        expect(await page.inputValue(input('notes'))).toBe('Deliver at the back door.')
        expect(host.hellos.map(({ client }) => client)).toEqual([null, CLIENT])
        expect(await kept(page)).toEqual({ 'client /client': id })
        host.lose()
        await page.waitForSelector('text=Connection lost.')
        host.comeBack()
        await page.waitForSelector(notice)
        expect(host.hellos.at(-1)?.client).toBe(id)
        expect(events()).toEqual([])
      })

      test('if a host stops, the client is reopened on another host, without a message about a lost connection', async () => {
        await using opened = await open()
        const { page, host, events } = opened
        await page.evaluate(`globalThis.states = []
          const status = document.getElementById('client-connection')
          new MutationObserver(() => states.push(status.dataset.state)).observe(status, { attributes: true })`)
        await page.focus(input('notes'))
        await page.keyboard.type('Still typing. ')
        host.beginAnew()
        host.goAway()
        await page.waitForSelector(notice)
        await waitUntil(async () => expect(await page.inputValue(input('notes'))).toBe('Deliver at the back door.'))
        expect(await page.evaluate('[...new Set(states)]')).toEqual(['reopened'])
        expect(host.hellos.map(({ client }) => client)).toEqual([null, CLIENT])
        expect(events()).toEqual([])
      })

      test('if the client is reopened after a page reload, a message says so, and the focus does not move', async () => {
        await using opened = await open()
        const { page, host, focused } = opened
        host.beginAnew()
        await page.reload()
        await page.waitForSelector(notice)
        await page.waitForSelector('#f-order')
        expect(await focused()).toBe('')
        expect(await page.evaluate('scrollY')).toBe(0)
      })

      test('if the user opens the page again after the client has ended, no message appears', async () => {
        await using opened = await open()
        const { page, host } = opened
        const { href } = new URL(page.url())
        host.beginAnew()
        await page.goto('about:blank')
        await page.goto(href)
        await page.waitForSelector('#f-order')
        expect(await page.textContent('#client-connection')).toBe('')
      })

      test('once a client has ended (signed-out, gone, elsewhere or failed), the page does not request it again', async () => {
        await using opened = await open()
        const { page, host } = opened
        for (const why of ['signed-out', 'gone', 'elsewhere', 'failed'] as const) {
          host.hellos.length = 0
          host.send({ kind: 'closed', why })
          await Promise.all([page.waitForEvent('load'), page.click('text=Open again')])
          await page.waitForSelector('#f-order')
          expect([why, ...host.hellos.map(({ client }) => client)]).toEqual([why, null])
          expect(await page.textContent('#client-connection')).toBe('')
        }
      })

      test('if a client was rejected, it may still be open, and the page requests it again', async () => {
        await using opened = await open()
        const { page, host } = opened
        host.send({ kind: 'closed', why: 'refused' })
        await page.click('text=Open again')
        await page.waitForSelector('#f-order')
        expect(host.hellos.map(({ client }) => client)).toEqual([null, CLIENT])
      })

      test('leaving a page closes its connection; returning to it resumes the client', async () => {
        await using cached = {
          browser: await launchWholeBrowser({ ignoreDefaultArgs: ['--disable-back-forward-cache'] }),
          [Symbol.asyncDispose]: () => cached.browser.close(),
        }
        // Needs a real connection, because a connection routed by Playwright closes when the page returns from the
        // back/forward cache.
        await using opened = await open({}, () => {}, { within: cached.browser, isRouted: false })
        const { page, host, complaints } = opened
        await page.evaluate('addEventListener("pageshow", ({ persisted }) => { window.cameBack = persisted })')
        await page.fill(input('notes'), 'Not sent')
        await page.evaluate(`location.assign('/signed-out')`)
        await page.waitForURL(`${origin}/signed-out`)
        await waitUntil(() => expect(host.isConnected).toBe(false))
        await page.evaluate('history.back()')
        await waitUntil(async () => expect(await page.evaluate('window.cameBack')).toBe(true))
        await page.focus(input('country'))
        await opened.eventCount(1)
        expect(opened.events()).toEqual([['notes', 'onElementDataChange', 'Not sent']])
        const [first, second] = host.hellos
        expect(host.hellos).toHaveLength(2)
        expect(second).toEqual({ ...first, client: CLIENT })
        expect(await page.inputValue(input('notes'))).toBe('Not sent')
        expect(await page.textContent('#client-connection')).toBe('')
        expect(complaints).toEqual([])
      })
    })

    describe('signing in and out', () => {
      /**
       * Records in `localStorage` what the page shows from now on. A second page of the same origin reads the values,
       * because the page itself can't be queried while it waits for the response to a POST request.
       */
      async function watch({ page, profile }: Awaited<ReturnType<typeof open>>) {
        await page.evaluate(`new MutationObserver(([{ target }]) => target.id && localStorage.setItem(target.id, target.textContent || 'shown'))
          .observe(document.body, { subtree: true, childList: true, attributes: true, attributeFilter: ['hidden'] })`)
        const beside = await profile.newPage()
        await beside.goto(`${origin}/media/logo.png`)
        return {
          /** Waits until the only change on the page is the progress bar. */
          isWorkingOnly: () =>
            waitUntil(async () =>
              expect(await beside.evaluate('({ ...localStorage })')).toEqual({ 'client-progress': 'shown' }),
            ),
        }
      }

      test('a login form’s token is posted to the page’s URL, and the client is not requested again', async () => {
        await using opened = await open({}, () => {}, { path: '/login?order=4711' })
        const { page, host, complaints } = opened
        const watched = await watch(opened)
        host.send({ kind: 'sign-in', token: 'a.b&c"d' })
        const { url, fields, response } = await nextPost()
        expect([url, fields]).toEqual(['/login?order=4711', { csrf_token: 'login token', id_token: 'a.b&c"d' }])
        host.lose()
        await watched.isWorkingOnly()
        expect(host.events).toEqual([])
        host.comeBack()
        redirect(response, '/')
        await page.waitForURL(`${origin}/`)
        await page.waitForSelector('#f-order')
        expect(host.hellos.map(({ client }) => client)).toEqual([null, null])
        expect(complaints).toEqual([])
      })

      test('when a script signs the user out, the page posts the sign-out form, with the page to continue at', async () => {
        await using opened = await open()
        const { page, host } = opened
        const watched = await watch(opened)
        host.send({ kind: 'sign-out', token: 'go-on' })
        const { url, fields, response } = await nextPost()
        expect([url, fields]).toEqual(['/logout', { csrf_token: 'token', after: 'go-on' }])
        host.send({ kind: 'closed', why: 'signed-out' })
        await watched.isWorkingOnly()
        redirect(response, '/signed-out')
        await page.waitForURL(`${origin}/signed-out`)
        expect(await kept(page)).toEqual({})
      })

      test('on a page without a user, a script’s sign-out has no effect, and the page keeps working', async () => {
        await using opened = await open({}, () => {}, { path: '/login?order=4711' })
        const { page, host, eventCount } = opened
        host.send({ kind: 'sign-out', token: 'go-on' })
        await page.click(input('save'))
        await eventCount(1)
        expect(posts).toEqual([])
      })

      test('the sign-out button signs the user out without a message that the client has ended', async () => {
        await using opened = await open()
        const { page, host } = opened
        const watched = await watch(opened)
        await page.click('text=Sign out', { noWaitAfter: true })
        const { url, fields, response } = await nextPost()
        expect([url, fields]).toEqual(['/logout', { csrf_token: 'token' }])
        host.send({ kind: 'closed', why: 'signed-out' })
        await watched.isWorkingOnly()
        redirect(response, '/signed-out')
        await page.waitForURL(`${origin}/signed-out`)
        expect(await kept(page)).toEqual({})
      })
    })

    describe('the host moves the focus', () => {
      test('the host can focus any element, which scrolls into view', async () => {
        await using opened = await open({ viewport: { width: 800, height: 300 } })
        const { page, host, focused } = opened
        for (const [element, control] of [
          ['customer', 'customer.input'],
          ['notes', 'notes.input'],
          ['country', 'country.input'],
          ['priority', 'priority.option.1'],
          ['save', 'save.input'],
          ['manual', 'manual.input'],
          ['details', 'details.tab.list'],
          ['customerPanel', 'customer.input'],
          ['orders', 'orders.all'],
        ] as const) {
          await page.evaluate('document.activeElement.blur(), scrollTo(0, 0)')
          host.send({ kind: 'focus', element })
          await waitUntil(async () => expect(await focused()).toBe(`e-order-${control}`))
          await untilTrue(
            page,
            `(() => {
            const { top, bottom } = document.activeElement.getBoundingClientRect()
            return top >= 0 && bottom <= innerHeight
          })()`,
          )
        }
      })

      test('if no option is selected, the host focuses the first one', async () => {
        await using opened = await open({}, (host) => host.change('priority', { value: null }))
        opened.host.send({ kind: 'focus', element: 'priority' })
        await waitUntil(async () => expect(await opened.focused()).toBe('e-order-priority.option.0'))
      })

      test('if the element is in a closed tab, the tab opens as if clicked', async () => {
        await using opened = await open()
        const { page, host, focused, events, eventCount } = opened
        host.send({ kind: 'focus', element: 'remark' })
        await eventCount(1)
        expect(events()).toEqual([['details', 'showTab', 'history']])
        expect(await focused()).toBe('e-order-remark.input')
        expect(await page.getAttribute('[id="e-order-details.tab.history"]', 'aria-selected')).toBe('true')
      })

      test('if the user cannot see the element, the focus does not move', async () => {
        await using opened = await open({}, (host) => host.change('mail', { visible: false }))
        const { page, host, focused, complaints } = opened
        await page.focus(input('customer'))
        for (const element of ['mail', 'cost', 'nothing', '"] *']) host.send({ kind: 'focus', element })
        host.send({ kind: 'message', text: 'after them', level: 'info' })
        await page.waitForSelector('.message')
        expect(await focused()).toBe('e-order-customer.input')
        expect(complaints).toEqual([])
      })
    })

    test('a table that is too wide scrolls horizontally, also by keyboard, but the page does not', async () => {
      await using opened = await open({}, () => {}, { definition: wide })
      const { page, host, focused } = opened
      await page.click('[id="e-order-views.tab.long"]')
      const region = page.getByRole('region', { name: 'Years' })
      await region.waitFor()
      // A badge's word is not broken: the badge has one line, of 22 px, and its padding.
      expect((await region.locator('.badge').boundingBox())?.height).toBeLessThan(40)
      expect(await page.evaluate('document.scrollingElement.scrollWidth')).toBe(1280)
      expect(await axeViolations(page)).toEqual([])
      await page.keyboard.press('Tab')
      expect(await focused()).toBe('e-order-views.panel.long')
      await page.keyboard.press('Tab')
      const scrolled = () => page.evaluate<number>(`document.activeElement.closest('.wide').scrollLeft`)
      await page.keyboard.press('ArrowRight')
      await waitUntil(async () => expect(await scrolled()).toBeGreaterThan(0))
      host.change('years', { rows: [{ id: 2, y1: 'other' }] })
      host.patch('years')
      await page.waitForSelector('text=other')
      expect(await scrolled()).toBeGreaterThan(0)
      await page.setViewportSize({ width: 320, height: 640 })
      await page.waitForSelector('.wide:not([tabindex])')
      expect(await page.getByRole('region', { name: 'Years' }).count()).toBe(0)
      expect(await page.evaluate('document.scrollingElement.scrollWidth')).toBe(320)
    })

    test('changing the language applies to the page’s text, and is announced to screen readers', async () => {
      await using opened = await open()
      const { page, host } = opened
      host.send({ kind: 'patch', seq: 0, changes: [{ id: 'client-texts', html: renderTexts('ar').text }] })
      await page.waitForSelector('html[lang=ar][dir=rtl]')
      host.send({ kind: 'patch', seq: 0, changes: [{ id: 'client-texts', html: renderTexts('nl-BE').text }] })
      await page.waitForSelector('html[lang=nl-BE][dir=ltr]')
      expect(await page.getAttribute('#client-progress', 'aria-label')).toBe('Bezig…')
      host.lose()
      await page.waitForSelector('text=Verbinding verbroken.')
    })

    test('data-cy is on the control itself, so tests can use it to fill, select or press each control', async () => {
      await using opened = await open()
      const { page, events, eventCount } = opened
      const by = (name: string) => page.locator(`[data-cy="order.${name}"]`)
      for (const { name } of EVERY_ELEMENT) expect([name, await by(name).count()]).toEqual([name, 1])
      await by('customer').fill('Zoe')
      await by('mail').fill('zoe@example.org')
      await by('pin').fill('1234')
      await by('notes').fill('none')
      await by('amount').fill('3')
      await by('due').fill('2027-02-01')
      await by('express').check()
      await by('country').selectOption('nl')
      await by('priority').getByLabel('Low').check()
      await by('details').getByText('List').click()
      await by('orders').getByLabel('Select Acme').first().check()
      await by('orders').getByText('Zürich Tools').first().click()
      await by('more').click()
      await by('save').click()
      await eventCount(13)
      expect(events().map(([element, , value]) => [element, value])).toEqual([
        ['customer', 'Zoe'],
        ['mail', 'zoe@example.org'],
        ['pin', '1234'],
        ['notes', 'none'],
        ['amount', 3],
        ['due', '2027-02-01'],
        ['express', true],
        ['country', 'nl'],
        ['priority', '3'],
        ['orders', { rows: [1], selected: true }],
        ['orders', 4],
        ['more', null],
        ['save', null],
      ])
      const roles = await Promise.all(
        ['details', 'orders', 'priority', 'customerPanel'].map((name) => by(name).getAttribute('role')),
      )
      expect(roles).toEqual(['tablist', 'table', 'radiogroup', 'group'])
    })

    test('reduced motion is respected, and in forced colors an open tab differs from a closed one', async () => {
      await using opened = await open({ reducedMotion: 'reduce' })
      for (const reducedMotion of ['reduce', 'no-preference'] as const) {
        await opened.page.emulateMedia({ reducedMotion })
        const moves = await opened.page.evaluate(
          `getComputedStyle(document.querySelector('#client-progress'), '::before').animationName`,
        )
        expect([reducedMotion, moves]).toEqual([reducedMotion, reducedMotion === 'reduce' ? 'none' : 'progress'])
      }
      await opened.page.emulateMedia({ forcedColors: 'active' })
      const line = (tab: string) =>
        opened.page.evaluate<string>(
          `getComputedStyle(document.getElementById('e-order-details.tab.${tab}')).borderBottomColor`,
        )
      expect(await line('list')).not.toBe(await line('history'))
    })

    test('an event whose response was lost with the connection takes effect once', async () => {
      await using opened = await open()
      const { page, host, eventCount, events } = opened
      host.hold()
      await page.click(input('save'))
      host.lose()
      await page.waitForSelector('text=Connection lost.')
      host.release()
      host.comeBack()
      await page.waitForSelector('text=You are connected again.')
      await page.click(input('cancel'))
      await eventCount(2)
      expect(events().map(([element]) => element)).toEqual(['save', 'cancel'])
    })

    test('a progress bar is shown while a response is pending', async () => {
      await using opened = await open()
      const { page, host } = opened
      host.hold()
      await page.click(input('save'))
      await page.waitForSelector('#client-progress:not([hidden])')
      host.release()
      await page.waitForSelector('#client-progress[hidden]', { state: 'attached' })
    })

    test('a new form replaces the current one; its title is shown in the window and has the focus', async () => {
      await using opened = await open()
      const { page, host, focused } = opened
      await page.fill(input('customer'), 'Not sent yet')
      host.send(otherForm())
      await page.waitForSelector('#f-other')
      expect(await page.title()).toBe('Another form')
      expect(await focused()).toBe('f-other.title')
      expect(await page.isVisible('#f-order')).toBe(false)
    })

    test('messages are announced by a live region, are plain text, and can be closed', async () => {
      await using opened = await open()
      const { page, host } = opened
      host.send({ kind: 'message', text: '<img src=x onerror=alert(1)>', level: 'info' })
      host.send({ kind: 'message', text: 'It failed.', level: 'error' })
      await page.waitForSelector('[role=alert] .message')
      expect(await page.textContent('[role=status] .message p')).toBe('<img src=x onerror=alert(1)>')
      await page.click('.message.error .dismiss')
      expect(await page.locator('.message.error').count()).toBe(0)
      await page.click(input('save'))
      await waitUntil(async () => expect(await page.locator('.message').count()).toBe(0))
    })

    test('a closed client shows the reason, does not accept input, and has a link that opens a new client', async () => {
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

    test('the page navigates to the URL that the host sends', async () => {
      await using opened = await open()
      opened.host.send({ kind: 'go', href: '/media/logo.png' })
      await opened.page.waitForURL(`${origin}/media/logo.png`)
    })

    test('malicious text is shown as text and does not run', async () => {
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
