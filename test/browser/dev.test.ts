import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { closeContexts, sharedBrowser } from '../support/browser.ts'
import { eventually, faultsOfScreen, nameOfFocus, openWatched, SCREENSHOTS } from '../support/client-browser.ts'
import { devForm, devSolution, startDev } from '../support/dev-process.ts'

// Tests what developers see in a real browser when they save files while the page is open.

let browser: Browser
beforeAll(async () => {
  browser = await sharedBrowser()
})
afterAll(() => closeContexts(browser))

const input = (name: string) => `[id="e-main-${name}.input"]`
const TABLE = {
  type: 'table',
  name: 'table',
  columns: [{ name: 'title', label: 'Title', sortable: true }],
  pageSize: 5,
  value: Array.from({ length: 12 }, (_, index) => ({ id: index + 1, title: `row ${index + 1}` })),
}

test('a saved form and script appear without a reload; unsent input and the cursor stay', async () => {
  using dev = await startDev({ ...devSolution('before'), 'forms/main.json': devForm('before', TABLE) })
  await using opened = await openWatched(browser)
  const { page, complaints } = opened
  await page.goto(`${dev.url}/solution/shop/`)
  await page.waitForSelector('#f-main')
  await page.evaluate('globalThis.isSamePage = true')
  await page.getByRole('button', { name: 'Next page' }).click()
  await eventually(() => page.innerText('#e-main-table')).toContain('row 6')
  await page.click(input('name'))
  await page.keyboard.type('half a wo')

  dev.save('forms/main.json', devForm('after', TABLE))
  await eventually(() => page.innerText('#e-main-heading')).toBe('after')
  await page.keyboard.type('rd')
  expect(await page.inputValue(input('name'))).toBe('half a word')
  expect(await nameOfFocus(page)).toBe('e-main-name.input')
  expect(await page.innerText('#e-main-table')).toContain('row 6')

  dev.mark()
  dev.save(
    'forms/main.js',
    "function greet() { forms.main.elements.answer.label = 'Hi ' + forms.main.elements.name.value }",
  )
  await dev.printed(/active after/)
  // The open page is updated a moment after the version becomes active.
  const greet = async () => {
    await page.click(input('greet'))
    return page.innerText('#e-main-answer')
  }
  await eventually(greet).toBe('Hi half a word')
  expect(await page.evaluate('globalThis.isSamePage')).toBe(true)
  expect(await page.innerText('#client-connection')).toBe('')
  await page.screenshot({ path: `${SCREENSHOTS}dev-after.png`, fullPage: true })
  expect(complaints).toEqual([])
})

test('a saved style sheet and image appear immediately, even if there was no style sheet before', async () => {
  const square = (colour: string) =>
    `<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><rect width="9" height="9" fill="${colour}"/></svg>`
  const image = { type: 'image', name: 'mark', src: 'mark.svg', alt: 'Mark' }
  using dev = await startDev({
    ...devSolution('x'),
    'forms/main.json': devForm('x', image),
    'media/mark.svg': square('red'),
  })
  await using opened = await openWatched(browser)
  const { page, complaints } = opened
  await page.goto(`${dev.url}/solution/shop/`)
  await page.waitForSelector('#f-main')
  const colour = () => page.evaluate<string>("getComputedStyle(document.querySelector('#f-main h1')).color")
  for (const shade of ['rgb(1, 2, 3)', 'rgb(4, 5, 6)']) {
    dev.save('media/style.css', `#f-main h1 { color: ${shade} }`)
    await eventually(colour).toBe(shade)
  }
  expect(await page.evaluate("document.querySelectorAll('link[rel=stylesheet]').length")).toBe(1)
  const pixel = () =>
    page.evaluate<string>(`(async () => {
      const image = document.querySelector('#e-main-mark img')
      await image.decode()
      const canvas = document.createElement('canvas').getContext('2d')
      canvas.drawImage(image, 0, 0)
      return canvas.getImageData(4, 4, 1, 1).data.slice(0, 3).join()
    })()`)
  expect(await pixel()).toBe('255,0,0')
  dev.save('media/mark.svg', square('blue'))
  await eventually(pixel).toBe('0,0,255')
  expect(complaints).toEqual([])
})

test('error messages about the first version, or about one that fails when a client opens, disappear once a save fixes the error', async () => {
  const hostile = '</script><img src=x onerror=document.title=1>'
  using dev = await startDev({ ...devSolution('x'), 'globals.js': `// ${hostile}\nreturn }` })
  await using opened = await openWatched(browser)
  const { page, complaints } = opened
  await page.goto(`${dev.url}/solution/shop/index.html`)
  const main = () => page.innerText('main')
  expect(await page.title()).toBe('1 error · Solhost')
  expect(await main()).toContain('globals.js:2:1 error script_syntax')
  expect(await main()).toContain(`  1 │ // ${hostile}\n> 2 │ return }\n    │ ^`)
  expect(await main()).toContain('Fix the script here, or just before this position.')
  expect(await faultsOfScreen(page, 'dev-first-refusal')).toEqual([])
  expect(complaints).toEqual([])
  dev.save('globals.js', 'function (')
  await eventually(main).toContain('globals.js:1:')
  dev.save('globals.js', "function onSolutionOpen() { throw new Error('not like this') }")
  await page.waitForSelector('#client-alerts .message')
  dev.save('globals.js', '')
  await page.waitForSelector('#f-main')
  expect(await page.innerText('#client-alerts')).toBe('')
})

test('errors appear above the page with their position, source and advice, and disappear when a save fixes them', async () => {
  const hostile = '</script><img src=x onerror=document.title=1>'
  using dev = await startDev({
    ...devSolution('x'),
    'globals.js': `function onSolutionOpen() { application.output('${hostile}') }`,
    'extra.txt': 'unused',
  })
  await using opened = await openWatched(browser)
  const { page, complaints } = opened
  await page.goto(`${dev.url}/solution/shop/`)
  await page.waitForSelector('#f-main')
  const strip = page.locator('.dev-strip summary')
  await eventually(() => strip.innerText()).toBe('1 warning, 1 log line')
  await strip.click()
  await eventually(() => page.innerText('.dev-lines')).toContain(hostile)
  expect(await page.innerText('.dev-lines')).toContain('file_unused')
  expect(await faultsOfScreen(page, 'dev-strip')).toEqual([])
  await strip.click()

  await page.click(input('name'))
  await page.keyboard.type('typed')
  const dialog = page.getByRole('alertdialog')
  dev.save('forms/main.js', 'function greet() {\n  return <b>\n}')
  await dialog.waitFor()
  const text = () => dialog.innerText()
  // If `solhost dev` reads a partly written file, it reports a different error first.
  await eventually(text).toContain('forms/main.js:2:10')
  expect(await text()).toContain('error script_syntax')
  expect(await text()).toMatch(/> 2 │ {3}return <b>\n +│ {10}\^/)
  expect(await text()).toContain('Fix the script here, or just before this position.')
  expect(await nameOfFocus(page)).toBe('Close')
  expect(await faultsOfScreen(page, 'dev-errors')).toEqual([])
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'hidden' })
  expect(await nameOfFocus(page)).toBe('e-main-name.input')
  expect(await page.inputValue(input('name'))).toBe('typed')
  await page.getByRole('button', { name: '1 error' }).click()
  await dialog.waitFor()
  dev.save('forms/main.js', `function greet() {\n  throw new Error('${hostile}')\n}`)
  await dialog.waitFor({ state: 'hidden' })

  await page.click(input('greet'))
  await dialog.waitFor()
  expect(await text()).toContain('forms/main.js:2:9')
  expect(await text()).toContain(hostile)
  dev.save('forms/main.json', devForm('fixed').replace('"greet",\n', '"greet", "kind": "pink",\n'))
  await eventually(text).toContain('form_invalid')
  expect(await text()).not.toContain('script_error')
  dev.save('forms/main.json', devForm('fixed'))
  await dialog.waitFor({ state: 'hidden' })
  await eventually(() => page.innerText('#e-main-heading')).toBe('fixed')
  expect(await page.title()).toBe('Main')
  expect(complaints).toEqual([])
})
