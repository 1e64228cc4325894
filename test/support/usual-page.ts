import type { Browser, BrowserContextOptions, Page } from 'playwright-core'

type OpenedPage = AsyncDisposable & { readonly page: Page }

/**
 * Lets the tests in a file share one page. A new browser profile starts a process and compiles all scripts again, which
 * takes more CPU time than most tests. The shared page is reset after each use, except for its cookies. Tests that
 * change cookies, the language or the clock need their own profile.
 * @param parts is called when the first page is opened; by then, the test hooks have started the browser
 * @returns a function that opens the shared page or, with options, a page in its own browser profile
 */
export function createPages(
  parts: () => {
    readonly browser: Browser
    /** The browser options for the shared page. */
    readonly options?: BrowserContextOptions
    /**
     * The URL of a page without scripts. The shared page is reset by opening it and clearing the stored data of its
     * origin.
     */
    readonly blank: string
    readonly signIn: (page: Page) => Promise<void>
  },
): (options?: BrowserContextOptions) => Promise<OpenedPage> {
  let usual: Promise<Page> | undefined

  async function newPage(options: BrowserContextOptions): Promise<Page> {
    const page = await (await parts().browser.newContext(options)).newPage()
    await parts().signIn(page)
    return page
  }

  async function clean(page: Page): Promise<void> {
    const { blank, options } = parts()
    for (const other of page.context().pages()) if (other !== page) await other.close()
    page.removeAllListeners()
    await page.unrouteAll()
    await page.goto(blank)
    await page.evaluate('sessionStorage.clear(), localStorage.clear()')
    await page.setViewportSize(options?.viewport ?? { width: 1280, height: 720 })
    await page.emulateMedia({ colorScheme: 'light', reducedMotion: null })
  }

  return async (options) => {
    if (options !== undefined) {
      const page = await newPage(options)
      return { page, [Symbol.asyncDispose]: () => page.context().close() }
    }
    usual ??= newPage(parts().options ?? {})
    const page = await usual
    return { page, [Symbol.asyncDispose]: () => clean(page) }
  }
}
