import { readFileSync } from 'node:fs'
import { compileFunction } from 'node:vm'
import { type Browser, type BrowserContextOptions, type Locator, type Page, selectors } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { packFolder } from '../../base/bundles/pack.ts'
import { exampleFolder } from '../../host/solutions/examples.ts'
import { browserPath, closeContexts, sharedBrowser } from '../support/browser.ts'
import { startTestHost, type TestHost } from '../support/host.ts'
import { ask } from '../support/http.ts'
import { addUser, askAdmin } from '../support/users.ts'

// Runs the examples in docs/testing.md unchanged, except for the host's URL and password. Playwright's test runner is
// not a dependency, so this file provides what the example uses from `@playwright/test`.

const GUIDE = readFileSync(new URL('../../docs/testing.md', import.meta.url), 'utf8')
const IMPORT = "import { expect, test } from '@playwright/test'\n"

/** Finds the only code block in that language that contains the text. */
function example(language: string, text: string): string {
  const found = [...GUIDE.matchAll(/^```(\w+)\n(.*?)^```$/gms)].filter(
    ([, of, code]) => of === language && code?.includes(text),
  )
  if (found.length !== 1) throw new Error(`docs/testing.md has ${found.length} blocks of ${language} with ${text}`)
  return (found[0]?.[2] ?? '').replaceAll('http://127.0.0.1:8080', host.url)
}

type Options = BrowserContextOptions & { readonly testIdAttribute?: string }
type PlaywrightTest = { readonly name: string; readonly body: (fixtures: { readonly page: Page }) => Promise<void> }

/** Runs a Playwright test file and collects its declarations. */
function read(
  code: string,
  missing?: string,
): { readonly options: Options; readonly tests: readonly PlaywrightTest[] } {
  expect(code.startsWith(IMPORT)).toBe(true)
  let options: Options = {}
  const tests: PlaywrightTest[] = []
  const declare = (name: string, body: PlaywrightTest['body']) => void tests.push({ name, body })
  declare.use = (used: Options) => {
    options = { ...options, ...used }
  }
  compileFunction(code.slice(IMPORT.length), ['test', 'expect'])(declare, expectations(missing))
  return { options, tests }
}

/** Retries like Playwright's `expect`. For the element that is expected to be missing, it gives up after 500 ms. */
const expectations = (missing: string | undefined) => (locator: Locator) => {
  const isMissing = missing !== undefined && String(locator).includes(missing)
  const soon = <T>(look: () => Promise<T>) =>
    expect.poll(look, { interval: 50, ...(isMissing ? { timeout: 500 } : {}) })
  const textOf = async () => {
    const text = await locator.innerText(isMissing ? { timeout: 500 } : {})
    return text.replace(/\s+/g, ' ').trim()
  }
  return {
    toBeVisible: () => soon(() => locator.isVisible()).toBe(true),
    toHaveText: (text: string) => soon(textOf).toBe(text),
    toContainText: (text: string) => soon(textOf).toContain(text),
    toHaveValue: (value: string) => soon(() => locator.inputValue()).toBe(value),
  }
}

let host: TestHost
let browser: Browser
beforeAll(async () => {
  host = await startTestHost({ PLATFORM_TESTING_MODE: 'true' })
  const uploaded = await host.upload('orders', await packFolder(exampleFolder('orders')))
  expect(uploaded.status).toBe(201)
  await addUser(host, 'edith', { permissions: ['Orders', 'Edit'] })
  if (browserPath !== undefined) browser = await sharedBrowser()
})
afterAll(async () => {
  await closeContexts(browser)
  await host.stop()
})

async function run({ options, tests }: ReturnType<typeof read>): Promise<void> {
  const { testIdAttribute, ...context } = options
  if (testIdAttribute !== undefined) selectors.setTestIdAttribute(testIdAttribute)
  for (const { body } of tests) {
    const page = await browser.newPage(context)
    await body({ page }).finally(() => page.close())
  }
}

if (browserPath === undefined) {
  console.warn('docs/testing.md: its example was not tried, since Chromium is missing')
} else {
  test('docs/testing.md: the example passes with the example solution, even a second time', async () => {
    const file = read(example('js', '@playwright/test'))
    expect(file.tests.map(({ name }) => name)).toEqual(['an editor renames a customer and sees it in the list'])
    await run(file)
    await run(file)
  })

  test('docs/testing.md: the example fails if nothing is saved', async () => {
    const code = example('js', '@playwright/test').replace("getByTestId('order.save')", "getByTestId('order.back')")
    await expect(run(read(code, 'order.message'))).rejects.toThrow()
  })

  test('docs/testing.md: the login page and the form use the documented names', async () => {
    const page = await browser.newPage({ baseURL: host.url })
    const names = () =>
      page.locator('[data-cy]').evaluateAll((all) => all.map((one) => `${one.tagName} ${one.dataset.cy}`))
    await page.goto('/solution/orders/')
    expect(await names()).toEqual(expect.arrayContaining(['INPUT login.username', 'BUTTON login.submit']))
    await page.fill('[data-cy="login.username"]', 'edith')
    await page.fill('[data-cy="login.password"]', 'seven green tractors')
    await page.click('[data-cy="login.submit"]')
    await page.waitForSelector('[data-cy="orders"]')
    expect(await names()).toEqual(
      expect.arrayContaining(['FORM orders', 'INPUT orders.search', 'SELECT orders.status', 'TABLE orders.list']),
    )
    await page.close()
  })
}

test('docs/testing.md: the documented requests to the testing API get the documented responses', async () => {
  const [, body] = /-d '(.+)'/.exec(example('sh', '/admin/api/testing')) ?? []
  const state = await askAdmin(host, 'POST', 'testing', JSON.parse(body ?? ''), 200)
  const [, said] = /The response is the current state: `(.+?)`/.exec(GUIDE) ?? []
  expect(JSON.stringify(state)).toBe(said)
  expect(state.clockOffsetMs).toBe(31 * 60_000)
  const headers = { authorization: host.admin, 'content-type': 'application/json' }
  const back = await ask(`${host.url}/admin/api/testing`, {
    method: 'POST',
    headers,
    body: '{"clockOffsetMs": 0, "throttles": true}',
  })
  expect(back.status).toBe(200)
})
