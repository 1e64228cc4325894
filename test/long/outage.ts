import type { ServerKindName } from '../../base/database/kind.ts'
import type { TestServer } from '../support/database-server.ts'
import { mariadbPath, startMariadb } from '../support/mariadb-server.ts'
import { freezeServer, killHosts, killServer, type Losses } from '../support/outages.ts'
import { postgresPath, startPostgres } from '../support/postgres-server.ts'
import { seededRandom } from '../support/random.ts'
import type { Rows } from './report.ts'

const ROUNDS = Number(process.env.LONG_ROUNDS ?? 20)
const SEED = Number(process.env.LONG_SEED ?? 47)
/** The maximum response time of a page while the database is down, and the host's maximum recovery time, in ms. */
const LONGEST_ANSWER = 6000
const LONGEST_RECOVERY = 10_000

/**
 * Repeatedly kills the host and its database servers while users sign in and an admin creates users. No confirmed data
 * may be lost. While the database is down, users who sign in must get an error message.
 */
export async function outage(rows: Rows): Promise<void> {
  const random = seededRandom(SEED)
  rows.tell('seed', SEED)
  const kills = await killHosts(ROUNDS, random)
  rows.tell('kill -9 of the host, embedded database: kills', kills.rounds)
  tellLosses(rows, 'embedded', kills)
  rows.atMost('embedded: databases that integrity_check finds fault with', 0, faulty(kills.integrity))
  rows.tell('embedded: start until a sign-in worked, longest, ms', kills.startTime)
  if (postgresPath !== undefined) await tellServer(rows, 'alpha', await startPostgres())
  if (mariadbPath !== undefined) await tellServer(rows, 'gamma', await startMariadb())

  async function tellServer(to: Rows, kind: ServerKindName, server: TestServer): Promise<void> {
    try {
      const { formStatuses, pageStatuses, liveStatuses, ...found } = await killServer(kind, server, ROUNDS, random)
      to.tell(`kill -9 of the server ${kind}: kills`, found.rounds)
      tellLosses(to, kind, found)
      to.tell(`${kind}: login forms while it was away`, formStatuses.length)
      to.atMost(`${kind}: of them not answered with 503`, 0, others(formStatuses, 503))
      to.atMost(`${kind}: without Retry-After or the user’s language`, 0, found.poorAnswers.length)
      to.atMost(`${kind}: login pages that were not shown`, 0, others(pageStatuses, 200))
      to.atMost(`${kind}: health/live that was not 200`, 0, others(liveStatuses, 200))
      to.atMost(`${kind}: remembered browsers that were forgotten`, 0, found.forgotten.length)
      to.atMost(`${kind}: login form, longest, ms`, LONGEST_ANSWER, found.formTime)
      to.atMost(`${kind}: login page, longest, ms`, LONGEST_ANSWER, found.pageTime)
      const freeze = await freezeServer(kind, server)
      to.atMost(`${kind}: login page while it stands still, ms`, LONGEST_ANSWER, freeze.pageTime)
      to.tell(`${kind}: login form while it stands still, ms (${freeze.formStatus})`, freeze.formTime)
      to.atMost(`${kind}: from its going on until a sign-in worked, ms`, LONGEST_RECOVERY, freeze.recovery)
      to.atMost(`${kind}: from its start until a sign-in worked, longest, ms`, LONGEST_RECOVERY, found.recovery)
    } finally {
      await server.stop()
    }
  }
}

function tellLosses(rows: Rows, what: string, { sessions, users, lost, unexpected }: Losses): void {
  rows.tell(`${what}: sign-ins that were answered for`, sessions)
  rows.tell(`${what}: new users that were answered for`, users)
  rows.atMost(`${what}: of both lost`, 0, lost.length)
  rows.atMost(`${what}: answers that say neither yes nor that the database is away`, 0, unexpected.length)
  for (const one of unexpected.slice(0, 3)) rows.tell(`${what}: one of them`, one)
}

function faulty(integrity: readonly string[]): number {
  return integrity.filter((said) => said !== 'ok').length
}

function others(statuses: readonly number[], wanted: number): number {
  return statuses.filter((status) => status !== wanted).length
}
