import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import type { Page } from 'playwright-core'
import type { Role } from '../../control-center/access/roles.ts'
import { readCenterSettings } from '../../control-center/config/settings.ts'
import { type ControlCenter, startControlCenter } from '../../control-center/main.ts'
import { addCookie, NAVIGATION } from './admin.ts'
import { type Answer, type Ask, ask } from './http.ts'
import { UNTHROTTLED } from './unthrottled.ts'

export const OWNER = 'owner@example.org'
export const CENTER_PASSWORD = 'a long test password'

/**
 * A response whose `body` is the parsed JSON, or undefined if there is no body. The JSON is untyped, since each test
 * expects a different structure.
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
  /** Everything that the control center has logged. */
  readonly logged: () => string
  /** Sends API requests as the owner of the organisation `acme`, or with another API token. `null` sends no token. */
  readonly api: (method: string, path: string, body?: unknown, token?: string | null) => Promise<ApiAnswer>
  /** Creates another API token for the organisation `acme`. */
  readonly tokenOf: (role: Role, organisation?: string) => Promise<string>
  /** Creates an environment of `acme` with a remote environment token. */
  readonly environment: (name: string) => Promise<{ readonly id: string; readonly token: string }>
  /** Creates an account. @returns its uid */
  readonly account: (username: string) => Promise<string>
  /** Creates an account that is a member of `acme`. @returns its uid */
  readonly member: (username: string, role?: Role) => Promise<string>
}

/** A real control center on a free loopback port, with its own folder, an owner and the organisation `acme`. */
export async function startTestCenter(
  properties: Record<string, string> = {},
  options: { readonly home?: string } = {},
): Promise<TestCenter> {
  const home = options.home ?? mkdtempSync(join(tmpdir(), 'center-test-'))
  // The control center shares this process with the test and everything that the worker's earlier test files loaded, so
  // the limit is high.
  const own = { PORT: '0', PLATFORM_HOME: home, RUNTIME_XMX: '8g' }
  const settings = readCenterSettings({ ...own, ...UNTHROTTLED, ...properties })
  const lines: string[] = []
  const log = pino({ level: 'debug' }, { write: (line: string) => void lines.push(line) })
  const center = await startControlCenter({ settings, log, version: 'test', terminal: true })
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

/** Simulates a browser on the control center's pages at the HTTP level. */
export async function signInToCenter(center: Pick<ControlCenter, 'url'>, username = OWNER) {
  const signedIn = await ask(`${center.url}/sign-in`, {
    method: 'POST',
    headers: { ...NAVIGATION, 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ username, password: CENTER_PASSWORD }).toString(),
  })
  if (signedIn.status !== 303) throw new Error(`the sign-in was answered ${signedIn.status}: ${signedIn.text}`)
  const cookies = signedIn.headers['set-cookie'] ?? []
  const cookie = cookies.findLast((one) => !/=;/.test(one))?.split(';', 1)[0] ?? ''
  const get = (path: string) => ask(`${center.url}${path}`, { headers: { ...NAVIGATION, cookie } })
  const csrfToken = /name="csrf-token" content="([^"]+)"/.exec((await get('/organisations')).text)?.[1] ?? ''
  return {
    cookie,
    csrfToken,
    get,
    /** Sends an API request as a page's script does. */
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
 * Opens a page in a real browser. Sets a session cookie first, because signing in with the form would load another
 * page.
 */
export async function openCenterPage(page: Page, center: Pick<ControlCenter, 'url'>, path: string): Promise<void> {
  await addCookie(page, `${center.url}/`, (await signInToCenter(center)).cookie)
  await page.goto(`${center.url}${path}`)
}
