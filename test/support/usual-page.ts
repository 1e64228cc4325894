import type { Browser, BrowserContextOptions, Page } from 'playwright-core'

type OpenedPage = AsyncDisposable & { readonly page: Page }

/**
 * Opens pages for a file's tests. A new browser profile starts a process and compiles all scripts again, which takes
 * more CPU time than most tests. Tests without special needs therefore share one page.
 * @param parts called when the first page opens, because hooks start the browser
 * @returns a function that opens the shared page or, with options, a page in its own browser profile. The shared page
 * is left clean, except for its cookies. Tests that change cookies, the language or the clock need their own profile.
 */
export function createPages(
  parts: () => {
    readonly browser: Browser
    /** The options of the shared page. */
    readonly options?: BrowserContextOptions
    /** The URL of a response without scripts, on the origin whose stored data is cleared. */
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
