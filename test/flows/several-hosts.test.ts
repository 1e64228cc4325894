import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { SERVER_START, type TestServer } from '../support/database-server.ts'
import { type HostGroup, sharedProperties, startHostGroup } from '../support/host-group.ts'
import { ask } from '../support/http.ts'
import { type MixedResult, mixedOperations } from '../support/mixed-operations.ts'
import { postgresPath, sharedPostgres } from '../support/postgres-server.ts'
import { scaled } from '../support/scale.ts'
import { askAdmin, PASSWORD, visit } from '../support/users.ts'

const SEED = 20_261
const AT_ONCE = 8
/** How many times the mix of operations runs. */
const TIMES = scaled(1, 10)
const NARROW = scaled(1, 6)
const WIDE = scaled(1, 2)
/**
 * The grace period, in ms. If a cookie that was already exchanged is used after it, the host treats this as theft.
 * Requests from two simultaneous tabs are never that far apart.
 */
const GRACE = 10 * 60_000
/** Maximum time, in ms, until a change on one host takes effect on the other. */
const WITHIN = 1000

/** The default throttle settings; other tests switch the throttle off. */
const THROTTLE = { THROTTLE_ACCOUNT_NETWORK: '5', THROTTLE_ACCOUNT: '20', THROTTLE_NETWORK: '200' }

describe.skipIf(postgresPath === undefined)('two hosts with one database, mixed operations', () => {
  let server: TestServer
  let group: HostGroup
  let result: MixedResult

  beforeAll(async () => {
    server = await sharedPostgres()
    const properties = {
      ...sharedProperties('alpha', server),
      ...THROTTLE,
      REMEMBER_GRACE: `${GRACE}ms`,
      // Testing mode is needed only to set the clock.
      PLATFORM_TESTING_MODE: 'true',
    }
    group = await startHostGroup(2, properties)
    result = await mixedOperations(group, { seed: SEED, width: AT_ONCE, times: TIMES, narrow: NARROW, wide: WIDE })
  }, SERVER_START + 600_000)
  afterAll(async () => {
    await group?.stop()
    await server?.stop()
  })

  test('each operation got the expected response', () => {
    expect(result.operations).toBe(184 * TIMES + 20 * (NARROW + WIDE))
    expect(result.unexpected).toEqual([])
  })

  test('no response has a status of 500 or above', () => {
    expect(result.serverErrors).toBe(0)
  })

  test('each confirmed session is found on both hosts within a second', () => {
    expect(result.found.length).toBeGreaterThan(150 * TIMES)
    expect(Math.max(...result.found)).toBeLessThanOrEqual(WITHIN)
  })

  test('each session that ended is invalid on both hosts within a second', () => {
    // Each sign-out adds two entries. The number of sign-outs depends on who is signed in at the time.
    expect(result.gone.length).toBeGreaterThan(20 * TIMES)
    expect(Math.max(...result.gone)).toBeLessThanOrEqual(WITHIN)
  })

  test('a version uploaded or activated on one host is served by the other within a second', () => {
    expect(result.served.length).toBeGreaterThan(scaled(3, 25))
    expect(Math.max(...result.served)).toBeLessThanOrEqual(WITHIN)
  })

  test('each remembered cookie was exchanged for exactly one new cookie, even by two simultaneous tabs', () => {
    expect(result.exchanges.length).toBeGreaterThan(scaled(20, 300))
    expect(new Set(result.exchanges)).toEqual(new Set([1]))
  })

  test('each login token signed in only one browser, even if two used it at the same time', () => {
    expect(result.tokens).toEqual(Array(8 * TIMES).fill(1))
  })

  test('guesses from one network are counted on both hosts together: only five per account are checked', () => {
    const narrow = result.targets.filter(({ isWide }) => !isWide)
    expect(narrow).toHaveLength(NARROW)
    expect(narrow.map(({ statuses }) => count(statuses, 401))).toEqual(Array(narrow.length).fill(5))
    expect(narrow.map(({ statuses }) => count(statuses, 429))).toEqual(Array(narrow.length).fill(15))
  })

  test('guesses from several networks are counted on both hosts together: only twenty per account are checked', async () => {
    const wide = result.targets.filter(({ isWide }) => isWide)
    expect(wide).toHaveLength(WIDE)
    for (const { username, statuses } of wide) {
      expect(count(statuses, 401)).toBe(20)
      const next = await visit(group, 'crm', { 'x-forwarded-for': '10.251.0.1' })
      expect((await next.signIn(username)).status).toBe(429)
    }
  })

  test('at the end, no session is lost: both hosts list exactly the sessions that did not end', async () => {
    for (const { url } of group.hosts) {
      const lost: string[] = []
      for (const [cookie, { solution, username }] of result.live) {
        const headers = { cookie: `session-${solution}=${cookie}` }
        const { text } = await ask(`${url}/solution/${solution}/session`, { headers })
        if (!text.includes(`"username":"${username}"`)) lost.push(`${username} at ${solution}`)
      }
      expect(lost).toEqual([])
      expect(await listedAt(url)).toEqual([...result.live.values()].map(named).sort())
    }
  })

  test('using a remembered cookie on one host after it was exchanged on the other counts as theft, and the remembered login ends on both', async () => {
    const [one, other] = group.hosts.map(({ url }) => ({ url, admin: group.admin }))
    if (one === undefined || other === undefined) throw new TypeError('there are two hosts')
    const owner = await visit(one, 'crm', { 'x-forwarded-for': '10.252.0.1' })
    await owner.signIn('user-1', PASSWORD, { remember: 'on' })
    const stolen = owner.cookie('remember') ?? ''
    owner.close()
    expect((await owner.open()).text).toContain('Signed in as user-1')
    for (const host of [one, other]) await askAdmin(host, 'POST', 'testing', { clockOffsetMs: GRACE + 1 }, 200)

    const thief = await visit(other, 'crm', { 'x-forwarded-for': '10.252.0.2' })
    thief.cookies.set('remember-crm', { value: stolen, path: '/' })
    expect((await thief.open()).text).toContain('name="password"')
    const ended = performance.now()
    // Wait until the other host must have noticed that the session has ended.
    while (performance.now() - ended <= WITHIN) await new Promise((resolve) => setTimeout(resolve, 50))
    expect((await owner.session()).status).toBe(401)
    owner.close()
    expect((await owner.open()).text).toContain('name="password"')
  })

  async function listedAt(url: string): Promise<string[]> {
    const all: string[] = []
    let after = ''
    do {
      const page = await askAdmin({ url, admin: group.admin }, 'GET', `sessions?limit=100${after}`)
      all.push(...(page.items as { username: string; solution: string }[]).map(named))
      after = page.next === undefined ? '' : `&after=${encodeURIComponent(page.next as string)}`
    } while (after !== '')
    return all.sort()
  }
})

function named({ username, solution }: { readonly username: string; readonly solution: string }): string {
  return `${username} at ${solution}`
}

function count(statuses: readonly number[], wanted: number): number {
  return statuses.filter((status) => status === wanted).length
}
