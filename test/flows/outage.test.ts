import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { SERVER_START, type TestServer } from '../support/database-server.ts'
import { mariadbPath, sharedMariadb } from '../support/mariadb-server.ts'
import { freezeServer, type HostKills, killHosts, killServer, type ServerKills } from '../support/outages.ts'
import { postgresPath, sharedPostgres } from '../support/postgres-server.ts'
import { seededRandom } from '../support/random.ts'
import { scaled, testAtFullScale } from '../support/scale.ts'

const SEED = 47
const KILLS = scaled(1, 3)
const SIZE = { beforeKill: scaled(15, 40), away: scaled(500, 2000) }

describe('kill -9 of the host under load, with the embedded database', () => {
  let kills: HostKills
  beforeAll(async () => {
    kills = await killHosts(KILLS, seededRandom(SEED), SIZE)
  })

  test('confirmed data still exists after a restart', () => {
    expect(kills.sessions).toBeGreaterThan(scaled(6, 60))
    expect(kills.users).toBeGreaterThan(scaled(2, 20))
    expect(kills.lost).toEqual([])
    expect(kills.unexpected).toEqual([])
  })

  test('the database is intact after the kill', () => {
    expect(kills.integrity).toEqual(Array(KILLS).fill('ok'))
  })
})

describe.each([
  { product: 'PostgreSQL', kind: 'alpha', path: postgresPath, start: sharedPostgres, rounds: scaled(1, 2) },
  { product: 'MariaDB', kind: 'gamma', path: mariadbPath, start: sharedMariadb, rounds: 1 },
] as const)('kill -9 of $product under load', ({ kind, path, start, rounds }) => {
  describe.skipIf(path === undefined)(`(needs ${kind})`, () => {
    let server: TestServer
    let kills: ServerKills
    beforeAll(async () => {
      server = await start()
      kills = await killServer(kind, server, rounds, seededRandom(SEED), SIZE)
    }, SERVER_START + 60_000)
    afterAll(() => server?.stop())

    test('the login form says in the user’s language that signing in is not possible now, and when to retry', () => {
      expect(new Set(kills.formStatuses)).toEqual(new Set([503]))
      expect(kills.poorAnswers).toEqual([])
      expect(kills.formTime).toBeLessThan(6000)
    })

    test('the login page does not hang', () => {
      expect(new Set(kills.pageStatuses)).toEqual(new Set([200]))
      expect(kills.pageTime).toBeLessThan(6000)
    })

    test('the host stays alive', () => {
      expect(new Set(kills.liveStatuses)).toEqual(new Set([200]))
    })

    test('the host recovers automatically when the server is available again', () => {
      expect(kills.recovery).toBeLessThan(10_000)
      expect(kills.unexpected).toEqual([])
    })

    test('a remembered browser stays remembered', () => {
      expect(kills.forgotten).toEqual([])
    })

    test('no confirmed data is lost', () => {
      expect(kills.sessions).toBeGreaterThan(scaled(14, 40))
      expect(kills.users).toBeGreaterThan(scaled(4, 10))
      expect(kills.lost).toEqual([])
    })
  })
})

// Waits for the host's real timeouts, so it runs only in the long tests.
testAtFullScale(
  'if a PostgreSQL server hangs, pages respond in time, the form reports the failure, and the host recovers with the server',
  async () => {
    const server = await sharedPostgres()
    try {
      const freeze = await freezeServer('alpha', server)
      expect(freeze).toMatchObject({ formStatus: 503, pageStatus: 200, liveStatus: 200 })
      expect(freeze.pageTime).toBeLessThan(6000)
      expect(freeze.formTime).toBeLessThan(12_000)
      expect(freeze.recovery).toBeLessThan(10_000)
    } finally {
      await server.stop()
    }
  },
  SERVER_START + 60_000,
)
