import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { HostFrame } from '../../host/web/frames.ts'
import { browserPath, closeContexts, sharedBrowser } from '../support/browser.ts'
import { openWatched } from '../support/client-browser.ts'
import { addClientSolution, outputOf } from '../support/client-solution.ts'
import { sharedHost } from '../support/shared-host.ts'
import { waitUntil } from '../support/wait-until.ts'

// Tests every input type with the keyboard only. The host validates the values that it receives.

const options = [
  { value: 'be', label: 'Belgium' },
  { value: 'de', label: 'Germany' },
  { value: 'nl', label: 'Netherlands' },
]
const noted = { onElementDataChange: 'note' }
const elements = [
  { type: 'text', name: 'text', ...noted, maxLength: 20 },
  { type: 'password', name: 'password', ...noted },
  { type: 'email', name: 'email', ...noted },
  { type: 'textarea', name: 'textarea', ...noted },
  { type: 'number', name: 'number', ...noted, min: 100, max: 2000, decimals: 2 },
  { type: 'date', name: 'date', ...noted, min: '2026-01-01', max: '2027-12-31' },
  { type: 'checkbox', name: 'checkbox', ...noted },
  { type: 'select', name: 'select', ...noted, options },
  { type: 'radio', name: 'radio', ...noted, options },
  { type: 'text', name: 'last' },
]
  .map((element) => ({ label: element.name, ...element }))
  .concat([{ type: 'button', name: 'press', label: 'Press', kind: 'primary', onAction: 'press' } as never])

const input = (name: string) => `[id="e-main-${name}.input"]`

/** Pastes a text into the focused input, as if it came from another program. */
async function paste(page: Page, text: string): Promise<void> {
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
  await page.evaluate(`navigator.clipboard.writeText(${JSON.stringify(text)})`)
  await page.keyboard.press('Control+V')
}

if (browserPath === undefined) console.info('typing in a browser: there is no Chromium here')
else {
  describe('typing in a browser', () => {
    let host: Awaited<ReturnType<typeof sharedHost>>
    let browser: Browser
    let solutions = 0

    beforeAll(async () => {
      host = await sharedHost()
      browser = await sharedBrowser()
    })
    afterAll(async () => {
      await closeContexts(browser)
    })

    async function open(options: BrowserContextOptions = {}, files: Record<string, string> = {}) {
      const name = `typing-${solutions++}`
      const script = `function note(before, after, event) { application.output(event.elementName + ' ' + JSON.stringify(after)) }
        function press() { application.output('pressed') }`
      await addClientSolution(host, name, { elements, script, files })
      const opened = await openWatched(browser, options)
      const { page } = opened
      const answered = watchAnswers(page)
      await page.goto(`${host.url}/solution/${name}/index.html`)
      await page.waitForSelector('#f-main')
      return { ...opened, answered, output: () => outputOf(host, name) }
    }

    /** @returns a function that waits until the host has acknowledged everything that the page sent */
    function watchAnswers(page: Page) {
      let sent = 0
      let known = 0
      page.on('websocket', (socket) => {
        socket.on('framesent', ({ payload }) => {
          sent = (JSON.parse(String(payload)) as { seq?: number }).seq ?? sent
        })
        socket.on('framereceived', ({ payload }) => {
          const frame = JSON.parse(String(payload)) as HostFrame
          if (frame.kind === 'idle') known = frame.seq
        })
      })
      return () => waitUntil(() => expect(known).toBe(sent))
    }

    const PASSWORD = 'password "[password]"'
    const TYPED = [
      { name: 'text', keys: 'Anna', value: 'Anna', sent: 'text "Anna"' },
      { name: 'password', keys: 'secret', value: 'secret', sent: PASSWORD },
      { name: 'email', keys: 'anna@example.org', value: 'anna@example.org', sent: 'email "anna@example.org"' },
      { name: 'textarea', keys: 'one two', value: 'one two', sent: 'textarea "one two"' },
      { name: 'number', keys: '1234.5', value: '1234.50', sent: 'number 1234.5' },
      { name: 'date', keys: '12242026', value: '2026-12-24', sent: 'date "2026-12-24"' },
      { name: 'checkbox', keys: ' ', value: 'on', sent: 'checkbox true' },
      { name: 'select', keys: 'n', value: 'nl', sent: 'select "nl"' },
    ]

    test.each(['slowly', 'fast'])(
      'text typed %s is sent once, when the focus leaves the input, and stays',
      async (pace) => {
        await using opened = await open()
        const { page, answered, output } = opened
        for (const { name, keys } of TYPED) {
          await page.focus(input(name))
          for (const key of keys) {
            await page.keyboard.press(key === ' ' ? 'Space' : key)
            if (pace === 'slowly') await answered()
          }
        }
        await page.focus('[id="e-main-radio.option.0"]')
        for (const key of ['Space', 'ArrowDown', 'ArrowDown']) {
          await page.keyboard.press(key)
          if (pace === 'slowly') await answered()
        }
        await page.focus(input('last'))
        const sent = [...TYPED.map((one) => one.sent), 'radio "be"', 'radio "de"', 'radio "nl"']
        await waitUntil(async () => expect(await output()).toEqual(sent))
        await answered()
        for (const { name, value } of TYPED) {
          expect(await page.inputValue(input(name))).toBe(value)
          await waitUntil(async () => expect(await page.textContent(`[id="e-main-${name}.error"]`)).toBe(''))
        }
        expect(await page.isChecked('[id="e-main-radio.option.2"]')).toBe(true)
      },
    )

    test.each([
      ['nl', '1250,5', '1.234,5', 1234.5],
      ['de', '1250,5', '1.234', 1234],
      ['de', '1250.5', '1234.5', 1234.5],
      ['fr', '1250,5', '1\u202f234,5', 1234.5],
      ['en', '1250.5', '1,234.5', 1234.5],
    ])(
      'a number is entered in the format of the page, even in a browser with another language: %s %s and %s',
      async (locale, typed, pasted, number) => {
        await using opened = await open({ locale }, { 'i18n/default.json': '{}', [`i18n/${locale}.json`]: '{}' })
        const { page, output, complaints } = opened
        expect(await page.getAttribute('#f-main', 'lang')).toBe(locale)
        await page.focus(input('number'))
        for (const key of typed) await page.keyboard.press(key)
        await page.focus(input('last'))
        await waitUntil(async () => expect(await output()).toEqual(['number 1250.5']))
        await page.focus(input('number'))
        await page.keyboard.press('Control+A')
        await paste(page, pasted)
        await page.focus(input('last'))
        await waitUntil(async () => expect((await output())[1]).toBe(`number ${number}`))
        expect(complaints).toEqual([])
      },
    )

    test('a number that is copied from one input to another keeps its value on a page in another language', async () => {
      await using opened = await open({ locale: 'nl' }, { 'i18n/default.json': '{}', 'i18n/nl.json': '{}' })
      const { page, output } = opened
      await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
      await page.focus(input('number'))
      await page.keyboard.type('101.125')
      await page.keyboard.press('Control+A')
      await page.keyboard.press('Control+C')
      await page.keyboard.press('Control+V')
      await page.focus(input('last'))
      await waitUntil(async () => expect(await page.textContent('[id="e-main-number.error"]')).toContain('0,01'))
      expect(await page.inputValue(input('number'))).toBe('101.125')
      expect(await output()).toEqual([])
    })

    test('a date is sent to the host on Enter, on a button press, and when the focus leaves the input', async () => {
      await using opened = await open()
      const { page, output } = opened
      await page.focus(input('date'))
      await page.keyboard.type('12242026')
      await page.keyboard.press('Enter')
      await waitUntil(async () => expect(await output()).toEqual(['date "2026-12-24"', 'pressed']))
      await page.focus(input('last'))
      await page.focus(input('date'))
      await page.keyboard.type('1225')
      await page.click(input('press'))
      await waitUntil(async () => expect((await output()).slice(2)).toEqual(['date "2026-12-25"', 'pressed']))
      await page.focus(input('date'))
      for (let times = 0; times < 3; times++) await page.keyboard.press('ArrowUp')
      await page.focus(input('last'))
      await waitUntil(async () => expect((await output()).slice(4)).toEqual(['date "2026-03-25"']))
    })

    test('an incomplete date is rejected once when the focus leaves the input, and can be completed', async () => {
      await using opened = await open()
      const { page, output } = opened
      await page.focus(input('date'))
      await page.keyboard.type('1224')
      await page.focus(input('last'))
      await waitUntil(async () =>
        expect(await page.textContent('[id="e-main-date.error"]')).toBe('Enter a complete date.'),
      )
      await page.focus(input('date'))
      await page.focus(input('last'))
      await page.focus(input('date'))
      for (const key of ['Tab', 'Tab']) await page.keyboard.press(key)
      await page.keyboard.type('2026')
      await page.focus(input('last'))
      await waitUntil(async () => expect(await output()).toEqual(['date "2026-12-24"']))
      await waitUntil(async () => expect(await page.textContent('[id="e-main-date.error"]')).toBe(''))
    })

    test('a value that was sent with Enter and then changed back is sent again when the focus leaves the input', async () => {
      await using opened = await open()
      const { page, answered, output } = opened
      await page.focus(input('text'))
      await page.keyboard.type('dri')
      await page.keyboard.press('Enter')
      await waitUntil(async () => expect(await output()).toEqual(['text "dri"', 'pressed']))
      await answered()
      for (let times = 0; times < 3; times++) await page.keyboard.press('Backspace')
      await page.keyboard.press('Tab')
      await waitUntil(async () => expect((await output()).slice(2)).toEqual(['text ""']))
    })
  })
}
