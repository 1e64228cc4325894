import type { Page } from 'playwright-core'
import { ADMIN_PASSWORD, type TestHost } from './host.ts'
import { type Answer, type Ask, ask } from './http.ts'

/** Sends HTTP requests to the admin pages like a browser, with a session cookie and the headers that browsers send. */
export async function signInToAdmin(host: Pick<TestHost, 'adminUrl'>) {
  const cookie = await adminCookie(host)
  const page = await ask(`${host.adminUrl}/admin/`, { headers: { ...NAVIGATION, cookie } })
  const csrfToken = /name="csrf-token" content="([^"]+)"/.exec(page.text)?.[1] ?? ''
  return {
    cookie,
    csrfToken,
    get: (path: string): Promise<Answer> => ask(`${host.adminUrl}${path}`, { headers: { ...NAVIGATION, cookie } }),
    /** Sends an API request like the script of an admin page. */
    api: (method: string, path: string, body?: unknown, more: Record<string, string> = {}): Promise<Answer> =>
      ask(`${host.adminUrl}/admin/api/${path}`, apiAsk(method, { cookie, 'x-csrf-token': csrfToken, ...more }, body)),
  }
}

/** Headers that a browser sends when a user opens a page. */
export const NAVIGATION = {
  accept: 'text/html',
  'sec-fetch-dest': 'document',
  'sec-fetch-mode': 'navigate',
  'sec-fetch-site': 'same-origin',
}

export async function adminCookie(host: Pick<TestHost, 'adminUrl'>): Promise<string> {
  const answer = await ask(`${host.adminUrl}/admin/sign-in`, {
    method: 'POST',
    headers: { ...NAVIGATION, 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ username: 'admin', password: ADMIN_PASSWORD }).toString(),
  })
  if (answer.status !== 303) throw new Error(`the sign-in was answered ${answer.status}: ${answer.text}`)
  return (answer.headers['set-cookie'] ?? [])[0]?.split(';', 1)[0] ?? ''
}

/**
 * Opens a page in a real browser that is already signed in. Sets the session cookie directly, which saves loading the
 * sign-in page.
 */
export async function openAdminPage(page: Page, host: Pick<TestHost, 'adminUrl'>, path: string): Promise<void> {
  await addCookie(page, `${host.adminUrl}/admin/`, await adminCookie(host))
  await page.goto(`${host.adminUrl}${path}`)
}

/**
 * Adds a cookie to the page's browser context.
 * @param cookie the cookie, as `name=value`
 */
export async function addCookie(page: Page, url: string, cookie: string): Promise<void> {
  const [, name = '', value = ''] = /^([^=]+)=(.*)$/.exec(cookie) ?? []
  await page.context().addCookies([{ url, name, value, httpOnly: true, sameSite: 'Lax' }])
}

function apiAsk(method: string, headers: Record<string, string>, body: unknown): Ask {
  const all = { 'sec-fetch-site': 'same-origin', 'sec-fetch-dest': 'empty', 'sec-fetch-mode': 'cors', ...headers }
  if (body === undefined) return { method, headers: all }
  return { method, headers: { ...all, 'content-type': 'application/json' }, body: JSON.stringify(body) }
}
