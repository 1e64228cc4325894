import type { Page } from 'playwright-core'
import type { Watched } from '../../support/client-browser.ts'
import type { Terminal } from '../../support/terminal.ts'
import type { Album } from './page-album.ts'

/** The form of an open client. */
export const FORM = 'form[data-form]'

const PROMPT = /\[\d+\]\$\s*$/
const MOST_ADMIN_PAGES = 60

export async function endWithCtrlC(terminal: Terminal): Promise<void> {
  await terminal.press('C-c')
  await terminal.until(PROMPT)
}

export async function signIn(page: Page, username: string, password: string): Promise<void> {
  await page.fill('[name=username]', username)
  await page.fill('[name=password]', password)
  await page.press('[name=password]', 'Enter')
}

/** Uses the form of a solution that `solhost init` created. */
export async function greet(page: Page, address: string, name: string): Promise<void> {
  await page.goto(address)
  await page.fill(`${FORM} input`, name)
  await page.getByRole('button', { name: /Greet me|Say hello/ }).click()
  await page.getByText(`Hello, ${name}!`).waitFor()
}

/** @param printed the host's output at startup */
export async function signInToAdmin(
  album: Album,
  admin: Watched,
  printed: { readonly pages: string; readonly adminPassword: string },
): Promise<void> {
  await admin.page.goto(printed.pages)
  await album.add(admin, 'admin-sign-in')
  await signIn(admin.page, 'admin', printed.adminPassword)
  await admin.page.waitForSelector('.parts', { state: 'attached' })
}

/**
 * Adds all admin pages that can be reached by links from the page `start`, one page of each kind.
 * @param isWanted whether to add the page at this path
 */
export async function addAdminPages(
  album: Album,
  admin: Watched,
  isWanted: (path: string) => boolean,
  start = admin.page.url(),
): Promise<void> {
  const seen = new Set<string>()
  const queue = [start]
  for (let url = queue.shift(); url !== undefined; url = queue.shift()) {
    const kind = kindOf(new URL(url).pathname)
    if (seen.has(kind)) continue
    if (seen.size >= MOST_ADMIN_PAGES) throw new Error(`there are more than ${MOST_ADMIN_PAGES} admin pages`)
    seen.add(kind)
    await admin.page.goto(url)
    await album.add(admin, kind.slice(1).replaceAll(/\W+/g, '-').replace(/-$/, ''))
    for (const link of await admin.page.locator('a[href^="/admin/"]:not([download])').all()) {
      const { href, pathname } = new URL((await link.getAttribute('href')) ?? '', url)
      if (!/^\/admin\/(api|guides)\//.test(pathname) && isWanted(pathname)) queue.push(href.replace(/#.*/, ''))
    }
  }
}

/** The kind of a page: all users' pages are of the same kind. */
function kindOf(path: string): string {
  return path.replace(/\/users\/(?!(new|import)$)[^/]+/, '/users/user')
}

export function isOf(path: string, solution: string): boolean {
  return path === `/admin/solutions/${solution}` || path.startsWith(`/admin/solutions/${solution}/`)
}
