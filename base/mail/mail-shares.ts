import type { Logger } from 'pino'
import { PlatformError } from '../../runtime/errors.ts'
import { insertOnce } from '../database/portable.ts'
import type { MailDatabase, MailService } from './tables.ts'

/**
 * The origin of an email. `organisation` is the id of an organisation in the control center, or '' on a host. `askedBy`
 * is `member` for an organisation's members and a host's operators, and `anybody` for requests from a login page. Each
 * origin has a separate hourly limit. Strangers at a login page therefore can't use up the emails that are needed for
 * invitations.
 */
export type MailOrigin = { readonly organisation: string; readonly askedBy: 'member' | 'anybody' }

/**
 * Limits how many emails an organisation or a host sends, because all of them share one mail server and its reputation.
 */
export interface MailShares {
  /** @throws ERR_THROTTLED if the organisation has too many queued emails, or has sent too many in this hour */
  need(origin: MailOrigin): Promise<void>
  /** Performs the same check as `need`, then counts one email. */
  take(origin: MailOrigin): Promise<void>
}

/** Maximum queued emails per organisation or host: a tenth of the whole queue. */
const MOST_WAITING = 1000
/** Retry-After in seconds when an organisation's queue is full. */
const AGAIN = 600
const HOUR = 3_600_000
/**
 * How much later the hour of a count may be, in ms: a node whose clock is ahead may have started the next hour. A count
 * for a later hour is from a time when a clock was wrong.
 */
const AHEAD = HOUR

/**
 * @param service the tables and messages to use
 * @param hourly `MAILS_HOURLY`
 * @param now returns the current time in epoch milliseconds
 */
export function createMailShares(
  db: MailDatabase,
  service: MailService,
  log: Pick<Logger, 'warn'>,
  hourly: number,
  now: () => number,
): MailShares {
  /** By organisation: the hour in which its exhausted limit was last logged. */
  const said = new Map<string, number>()

  async function needPlace(organisation: string): Promise<void> {
    const { waiting } = await db
      .selectFrom(service.mails)
      .select((of) => of.fn.countAll<number>().as('waiting'))
      .where('organisation', '=', organisation)
      .executeTakeFirstOrThrow()
    if (Number(waiting) < MOST_WAITING) return
    throw new PlatformError(
      'ERR_THROTTLED',
      `${service.sender} already has ${MOST_WAITING} emails waiting to be sent. Try again later. ${service.ifWaiting}`,
      { retryAfter: AGAIN },
    )
  }

  function usedUp({ organisation, askedBy }: MailOrigin, hour: number): PlatformError {
    const key = `${askedBy} ${organisation}`
    if (said.get(key) !== hour) {
      for (const [other, before] of said) if (before !== hour) said.delete(other)
      said.set(key, hour)
      log.warn({ organisation, askedBy, hourly }, service.usedUp)
    }
    const left = hour + HOUR - now()
    return new PlatformError(
      'ERR_THROTTLED',
      `${service.sender} has sent ${hourly} emails this hour, which is the maximum. Try again in ${Math.ceil(left / 60_000)} ` +
        `min, or ${service.ifUsedUp}.`,
      { retryAfter: Math.ceil(left / 1000) },
    )
  }

  return {
    async need(origin) {
      const { organisation, askedBy } = origin
      await needPlace(organisation)
      const hour = hourOf(now())
      const full = await db
        .selectFrom(service.counts)
        .select('count')
        .where('organisation', '=', organisation)
        .where('asked_by', '=', askedBy)
        .where((of) => of.between('hour', hour, hour + AHEAD))
        .where('count', '>=', hourly)
        .executeTakeFirst()
      if (full !== undefined) throw usedUp(origin, hour)
    },
    async take(origin) {
      const { organisation, askedBy } = origin
      await needPlace(organisation)
      const hour = hourOf(now())
      const ofOrigin = db
        .updateTable(service.counts)
        .where('organisation', '=', organisation)
        .where('asked_by', '=', askedBy)
      const further = () =>
        ofOrigin
          .set((of) => ({ count: of('count', '+', 1) }))
          .where((of) => of.between('hour', hour, hour + AHEAD))
          .where('count', '<', hourly)
          .executeTakeFirst()
      if ((await further()).numUpdatedRows > 0n) return
      const restarted = await ofOrigin
        .set({ hour, count: 1 })
        .where((of) => of.not(of.between('hour', hour, hour + AHEAD)))
        .executeTakeFirst()
      if (restarted.numUpdatedRows > 0n) return
      if (await insertOnce(db, service.counts, { organisation, asked_by: askedBy, hour, count: 1 })) return
      // Not inserted: either another request has created the row for this hour, or the limit is reached.
      if ((await further()).numUpdatedRows === 0n) throw usedUp(origin, hour)
    },
  }
}

/** @returns the beginning of the hour, in epoch ms */
function hourOf(time: number): number {
  return time - (time % HOUR)
}
