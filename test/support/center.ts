import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import type { Page } from 'playwright-core'
import type { Role } from '../../control-center/access/roles.ts'
import { readCenterSettings } from '../../control-center/config/settings.ts'
import { type ControlCenter, startControlCenter } from '../../control-center/main.ts'
import { addCookie, NAVIGATION } from './admin.ts'
import { CHEAP_HASHES } from './cheap-passwords.ts'
import { type Answer, type Ask, ask } from './http.ts'
import { UNTHROTTLED } from './unthrottled.ts'

export const OWNER = 'owner@example.org'
export const CENTER_PASSWORD = 'a long test password'

/**
 * A response from the API. `body` is the parsed JSON, or undefined if the response contains none. It is untyped,
 * because each test expects a different structure.
 */
// biome-ignore lint/suspicious/noExplicitAny: parsed JSON
export type ApiAnswer = Answer & { readonly body: any }

async function askApi(url: string, given: Ask): Promise<ApiAnswer> {
  const answer = await ask(url, given)
  const isJson = /json/.test(String(answer.headers['content-type']))
  return { ...answer, body: isJson ? JSON.parse(answer.text) : undefined }
}

export type TestCenter = ControlCenter & {
  readonly home: string
  /** Returns everything that the control center has logged. */
  readonly logged: () => string
  /**
   * Sends an API request, by default as the owner of the organisation `acme`. Another API token can be passed. `null`
   * sends no token.
   */
  readonly api: (method: string, path: string, body?: unknown, token?: string | null) => Promise<ApiAnswer>
  /** Creates an API token with this role, by default for the organisation `acme`. */
  readonly tokenOf: (role: Role, organisation?: string) => Promise<string>
  /** Creates an environment in the organisation `acme`, and a remote environment token for it. */
  readonly environment: (name: string) => Promise<{ readonly id: string; readonly token: string }>
  /** Creates an account. @returns its uid */
  readonly account: (username: string) => Promise<string>
  /**
   * Creates an account that is a member of the organisation `acme`.
   * @returns its uid
   */
  readonly member: (username: string, role?: Role) => Promise<string>
}

/**
 * Starts a real control center on a free loopback port, with its own folder. It has the organisation `acme` with an
 * owner.
 */
export async function startTestCenter(
  properties: Record<string, string> = {},
  options: { readonly home?: string } = {},
): Promise<TestCenter> {
  const home = options.home ?? mkdtempSync(join(tmpdir(), 'center-test-'))
  // Use a high memory limit. This process also contains the test, and everything that earlier test files have loaded.
  const own = { PORT: '0', PLATFORM_HOME: home, RUNTIME_XMX: '8g' }
  const settings = readCenterSettings({ ...own, ...UNTHROTTLED, ...properties })
  const lines: string[] = []
  const log = pino({ level: 'debug' }, { write: (line: string) => void lines.push(line) })
  const center = await startControlCenter({
    settings,
    log,
    version: 'test',
    terminal: true,
    passwordCost: CHEAP_HASHES,
  })
  const { users, organisations, invitations, apiTokens, environments, environmentTokens } = center.parts

  async function account(username: string): Promise<string> {
    const password = CENTER_PASSWORD
    const user = await users.create({ username, email: username, password, mustChangePassword: false })
    return user.uid
  }

  async function idOf(organisation: string): Promise<string> {
    const found = await organisations.find(organisation)
    if (found === null) throw new Error(`there is no organisation ${organisation}`)
    return found.id
  }

  if ((await organisations.find('acme')) === null) {
    await organisations.create({ name: 'acme', title: 'Acme' }, await account(OWNER))
  }
  const tokenOf = async (role: Role, organisation = 'acme') =>
    (await apiTokens.create(await idOf(organisation), { name: 'test', role, expiresAt: null })).token
  const owner = await tokenOf('owner')

  return {
    ...center,
    home,
    logged: () => lines.join(''),
    account,
    async member(username, role = 'viewer') {
      const uid = await account(username)
      const { token } = await invitations.create(await idOf('acme'), { email: username, role, invitedBy: 'test' })
      await invitations.accept(token, uid)
      return uid
    },
    tokenOf,
    api: (method, path, body, token = owner) =>
      askApi(`${center.url}/api/${path}`, {
        method,
        headers: {
          ...(token === null ? {} : { authorization: `Bearer ${token}` }),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }),
    async environment(name) {
      const { id } = await environments.create(await idOf('acme'), { name, type: 'onprem' })
      return { id, token: (await environmentTokens.create(id, 'test')).token }
    },
    async stop() {
      await center.stop()
      if (options.home === undefined) rmSync(home, { recursive: true, force: true })
    },
  }
}

/**
 * Signs in to a control center over HTTP.
 * @returns functions that send requests with the session, like a browser
 */
export async function signInToCenter(center: Pick<ControlCenter, 'url'>, username = OWNER) {
  const signedIn = await ask(`${center.url}/sign-in`, {
    method: 'POST',
    headers: { ...NAVIGATION, 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ username, password: CENTER_PASSWORD }).toString(),
  })
  if (signedIn.status !== 303) throw new Error(`the sign-in was answered ${signedIn.status}: ${signedIn.text}`)
  const cookies = signedIn.headers['set-cookie'] ?? []
  const cookie = cookies.find((one) => /^session-[^=]*=[^;]/.test(one))?.split(';', 1)[0] ?? ''
  const get = (path: string) => ask(`${center.url}${path}`, { headers: { ...NAVIGATION, cookie } })
  const csrfToken = /name="csrf-token" content="([^"]+)"/.exec((await get('/organisations')).text)?.[1] ?? ''
  return {
    cookie,
    csrfToken,
    get,
    /** Sends an API request like a page's script. */
    api: (method: string, path: string, body?: unknown, more: Record<string, string> = {}): Promise<ApiAnswer> =>
      askApi(`${center.url}/api/${path}`, {
        method,
        headers: {
          'sec-fetch-site': 'same-origin',
          'sec-fetch-dest': 'empty',
          'sec-fetch-mode': 'cors',
          cookie,
          'x-csrf-token': csrfToken,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...more,
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }),
  }
}

/**
 * Opens a page in a real browser that is already signed in. Sets the session cookie directly, which saves loading the
 * sign-in page.
 */
export async function openCenterPage(page: Page, center: Pick<ControlCenter, 'url'>, path: string): Promise<void> {
  await addCookie(page, `${center.url}/`, (await signInToCenter(center)).cookie)
  await page.goto(`${center.url}${path}`)
}
