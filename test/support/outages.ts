import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as pause } from 'node:timers/promises'
import type { ServerKindName } from '../../base/database/kind.ts'
import type { TestServer } from './database-server.ts'
import { ADMIN, ADMIN_PASSWORD, sharedProperties } from './host-group.ts'
import { type HostProcess, startHostProcess } from './host-process.ts'
import { type Answer, ask } from './http.ts'
import { PATIENCE } from './patience.ts'
import type { Random } from './random.ts'
import { addUser, PASSWORD, visit } from './users.ts'
import { bundleOf } from './zip.ts'

/** The number of operations (sign-ins or user creations) that run at the same time. */
const AT_ONCE = 6
export type Size = {
  /** How many operations must succeed before each kill, and again after it. */
  readonly beforeKill: number
  /** How long the database server stays down while requests are sent, in ms. */
  readonly away: number
}
const LARGE: Size = { beforeKill: 40, away: 2000 }
const PAGE = '/solution/crm/index.html'

export type Losses = {
  /**
   * The total numbers of confirmed sign-ins and confirmed new users. `lost` lists those that were missing afterwards.
   */
  readonly sessions: number
  readonly users: number
  readonly lost: readonly string[]
  /** Responses with an unexpected error. A message about the unreachable database is expected. */
  readonly unexpected: readonly string[]
}

export type HostKills = Losses & {
  readonly rounds: number
  /** The results of `PRAGMA integrity_check` for the database file after each kill. */
  readonly integrity: readonly string[]
  /** The longest time from a restart until a sign-in worked, in ms. */
  readonly startTime: number
}

export type ServerKills = Losses & {
  readonly rounds: number
  /**
   * The response statuses while the database was down: for submitted login forms, the login page, and `/health/live`.
   */
  readonly formStatuses: readonly number[]
  readonly pageStatuses: readonly number[]
  readonly liveStatuses: readonly number[]
  /** Responses to a submitted login form that lack Retry-After, or the message in the user's language. */
  readonly poorAnswers: readonly string[]
  /** Problems with remembered logins before, during and after the outage. */
  readonly forgotten: readonly string[]
  /** The longest response times while the database was down, in ms. */
  readonly formTime: number
  readonly pageTime: number
  /** The longest time from the start of the database until a sign-in worked, in ms. */
  readonly recovery: number
}

/** Repeatedly kills a host with the embedded database while users sign in and an admin creates users. */
export async function killHosts(rounds: number, random: Random, size = LARGE): Promise<HostKills> {
  const home = mkdtempSync(join(tmpdir(), 'solhost-outage-'))
  const properties = { LOG_LEVEL: 'warn', SERVLET_PASSWORD: ADMIN_PASSWORD }
  const integrity: string[] = []
  const load = createLoad()
  let startTime = 0
  let host: HostProcess | null = null
  try {
    host = await startHostProcess(home, properties)
    await prepare(host.url)
    for (let round = 0; round < rounds; round++) {
      load.start(host.url)
      await load.untilMore(size.beforeKill)
      await pause(random.below(100))
      host.child.kill('SIGKILL')
      await host.gone
      await load.stop()
      integrity.push(checkIntegrity(home))
      const start = performance.now()
      host = await startHostProcess(home, properties)
      await untilSignedIn(host.url)
      startTime = Math.max(startTime, performance.now() - start)
      await load.findAll(host.url)
    }
    return { ...load.losses(), rounds, integrity, startTime }
  } finally {
    host?.child.kill('SIGTERM')
    await host?.gone
    rmSync(home, { recursive: true, force: true })
  }
}

/** Repeatedly kills the database server while users sign in and an admin creates users. The host keeps running. */
export async function killServer(
  kind: ServerKindName,
  server: TestServer,
  rounds: number,
  random: Random,
  size = LARGE,
): Promise<ServerKills> {
  const home = mkdtempSync(join(tmpdir(), 'solhost-outage-'))
  const load = createLoad()
  const away = createAwayLog()
  const forgotten: string[] = []
  let recovery = 0
  let host: HostProcess | null = null
  try {
    host = await startHostProcess(home, { LOG_LEVEL: 'warn', ...sharedProperties(kind, server) })
    await prepare(host.url)
    for (let round = 0; round < rounds; round++) {
      load.start(host.url)
      await load.untilMore(size.beforeKill)
      await pause(random.below(100))
      const open = await visit(host, 'crm', { 'accept-language': 'nl' })
      const remembered = await rememberedBrowser(host.url)
      await server.kill()
      await away.askFor(size.away, host.url, open)
      const meanwhile = await remembered.open()
      if (meanwhile.status !== 503) forgotten.push(`meanwhile: ${meanwhile.status}`)
      await server.restart()
      const start = performance.now()
      await untilSignedIn(host.url)
      recovery = Math.max(recovery, performance.now() - start)
      const again = await remembered.open()
      if (!again.text.includes('Signed in as anna')) forgotten.push(`afterwards: ${again.status}`)
      await load.untilMore(size.beforeKill)
      await load.stop()
      await load.findAll(host.url)
    }
    return { ...load.losses(), ...away.found(), forgotten, rounds, recovery }
  } finally {
    host?.child.kill('SIGTERM')
    await host?.gone
    rmSync(home, { recursive: true, force: true })
  }
}

export type Freeze = {
  readonly formStatus: number
  readonly pageStatus: number
  readonly liveStatus: number
  /** The response times, in ms. */
  readonly formTime: number
  readonly pageTime: number
  /** The time between resuming the server and the first successful sign-in, in ms. */
  readonly recovery: number
}

/**
 * Suspends the database server, checks how the host responds, and resumes the server. A suspended server neither
 * rejects connections nor responds.
 */
export async function freezeServer(kind: ServerKindName, server: TestServer): Promise<Freeze> {
  const home = mkdtempSync(join(tmpdir(), 'solhost-outage-'))
  let host: HostProcess | null = null
  try {
    host = await startHostProcess(home, { LOG_LEVEL: 'warn', ...sharedProperties(kind, server) })
    const { url } = host
    await prepare(url)
    await untilSignedIn(url)
    const open = await visit(host, 'crm')
    await server.freeze()
    const start = performance.now()
    const timed = async (asked: Promise<Answer>) => ({ ...(await asked), time: performance.now() - start })
    const [form, page, live] = await Promise.all([
      timed(open.signIn('anna')),
      timed(ask(`${url}${PAGE}`, { headers: { accept: 'text/html' } })),
      timed(ask(`${url}/health/live`)),
    ])
    server.thaw()
    const thawed = performance.now()
    await untilSignedIn(url)
    return {
      formStatus: form.status,
      pageStatus: page.status,
      liveStatus: live.status,
      formTime: form.time,
      pageTime: page.time,
      recovery: performance.now() - thawed,
    }
  } finally {
    server.thaw()
    host?.child.kill('SIGTERM')
    await host?.gone
    rmSync(home, { recursive: true, force: true })
  }
}

async function prepare(url: string): Promise<void> {
  const headers = { authorization: ADMIN, 'content-type': 'application/zip' }
  const body = await bundleOf({ name: 'crm', authenticator: 'DEFAULT' })
  const answer = await ask(`${url}/admin/api/solutions/crm`, { method: 'PUT', headers, body })
  if (answer.status !== 201) throw new Error(`the upload was answered with ${answer.status}: ${answer.text}`)
  await addUser({ url, admin: ADMIN }, 'anna')
}

/**
 * Signs a user in with "remember", and closes the browser.
 * @returns the closed browser
 */
async function rememberedBrowser(url: string) {
  const browser = await visit({ url }, 'crm')
  const { status } = await browser.signIn('anna', PASSWORD, { remember: 'on' })
  if (status !== 303) throw new Error(`the browser to remember was answered with ${status}`)
  browser.close()
  return browser
}

/**
 * Repeats operations until it is stopped: it signs users in, and every third time creates a user instead. Records which
 * operations were confirmed.
 */
function createLoad() {
  const sessions: string[] = []
  const users: string[] = []
  const lost: string[] = []
  const unexpected: string[] = []
  let running: Promise<unknown> = Promise.resolve()
  let stopped = true
  let made = 0

  async function signIn(url: string): Promise<void> {
    const browser = await visit({ url }, 'crm')
    const { status } = await browser.signIn('anna')
    const cookie = browser.cookie('session')
    if (status === 303 && cookie !== undefined) sessions.push(cookie)
    // If the login page could not be loaded, there is no CSRF token, and the response is 403.
    else if (status !== 503 && !(status === 403 && browser.token() === null)) unexpected.push(`sign-in: ${status}`)
  }

  async function makeUser(url: string): Promise<void> {
    const user = { username: `made-${++made}`, password: PASSWORD, permissions: ['Users'] }
    const headers = { authorization: ADMIN, 'content-type': 'application/json' }
    const body = JSON.stringify(user)
    const answer = await ask(`${url}/admin/api/users`, { method: 'POST', headers, body })
    if (answer.status === 201) users.push((answer.json() as { uid: string }).uid)
    else if (answer.status !== 503) unexpected.push(`new user: ${answer.status} ${answer.text}`)
  }

  async function work(url: string): Promise<void> {
    for (let turn = 0; !stopped; turn++) {
      const before = sessions.length + users.length
      try {
        await (turn % 3 === 2 ? makeUser(url) : signIn(url))
      } catch (error) {
        // Ignore the error: the host was killed before it responded.
        if ((error as NodeJS.ErrnoException).code === undefined) throw error
      }
      if (sessions.length + users.length === before) await pause(20)
    }
  }

  return {
    start(url: string): void {
      stopped = false
      running = Promise.all(Array.from({ length: AT_ONCE }, () => work(url)))
      // Prevent an unhandled rejection. `stop` awaits the promise, so it reports the error.
      running.catch(() => {})
    },
    async untilMore(count: number): Promise<void> {
      const wanted = sessions.length + users.length + count
      const end = performance.now() + PATIENCE
      while (sessions.length + users.length < wanted) {
        if (performance.now() > end) throw new Error(`the load does not go on: ${unexpected.slice(-3).join('; ')}`)
        await pause(5)
      }
    },
    async stop(): Promise<void> {
      stopped = true
      await running
    },
    /** Checks that all confirmed data still exists, and adds missing data to `lost`. */
    async findAll(url: string): Promise<void> {
      const asked: [string, Record<string, string>, string][] = [
        ...sessions.map((one): [string, Record<string, string>, string] => [
          '/solution/crm/session',
          { cookie: `session-crm=${one}` },
          'a session',
        ]),
        ...users.map((uid): [string, Record<string, string>, string] => [
          `/admin/api/users/${uid}`,
          { authorization: ADMIN },
          'a user',
        ]),
      ]
      for (const [path, headers, what] of asked) {
        const { status } = await ask(`${url}${path}`, { headers })
        if (status !== 200) lost.push(`${what}: ${status}`)
      }
    },
    losses: (): Losses => ({ sessions: sessions.length, users: users.length, lost, unexpected }),
  }
}

/** Records the responses that browsers get while the database is unreachable. */
function createAwayLog() {
  const formStatuses: number[] = []
  const pageStatuses: number[] = []
  const liveStatuses: number[] = []
  const poorAnswers: string[] = []
  let formTime = 0
  let pageTime = 0
  const sentence = textOf('nl', 'platform.login.unavailable')

  return {
    /**
     * Sends requests for this time, in ms.
     * @param open a browser in which the login page is open, in Dutch
     */
    async askFor(duration: number, url: string, open: Awaited<ReturnType<typeof visit>>): Promise<void> {
      const end = performance.now() + duration
      do {
        const start = performance.now()
        const answer = await open.signIn('anna')
        formTime = Math.max(formTime, performance.now() - start)
        formStatuses.push(answer.status)
        if (answer.headers['retry-after'] === undefined) poorAnswers.push('no Retry-After')
        if (!answer.text.includes(sentence)) poorAnswers.push(answer.text.slice(0, 500))
        const asked = performance.now()
        pageStatuses.push((await ask(`${url}${PAGE}`, { headers: { accept: 'text/html' } })).status)
        pageTime = Math.max(pageTime, performance.now() - asked)
        liveStatuses.push((await ask(`${url}/health/live`)).status)
      } while (performance.now() < end)
    },
    found: () => ({ formStatuses, pageStatuses, liveStatuses, poorAnswers, formTime, pageTime }),
  }
}

async function untilSignedIn(url: string): Promise<void> {
  const end = performance.now() + PATIENCE
  for (;;) {
    const browser = await visit({ url }, 'crm')
    const { status } = await browser.signIn('anna')
    if (status === 303) return
    if (performance.now() > end) throw new Error(`nobody can sign in: ${status}`)
    await pause(50)
  }
}

/** Checks the database file after a kill. Uses a copy, because the host itself must recover the original. */
function checkIntegrity(home: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'solhost-integrity-'))
  try {
    for (const name of ['platform.sqlite', 'platform.sqlite-wal']) {
      if (existsSync(join(home, name))) copyFileSync(join(home, name), join(folder, name))
    }
    const database = new DatabaseSync(join(folder, 'platform.sqlite'))
    const rows = database.prepare('PRAGMA integrity_check').all() as { integrity_check: string }[]
    database.close()
    return rows.map((row) => row.integrity_check).join('; ')
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function textOf(locale: string, key: string): string {
  const file = new URL(`../../base/web/texts/platform/${locale}.json`, import.meta.url)
  return (JSON.parse(readFileSync(file, 'utf8')) as Record<string, string>)[key] ?? ''
}
