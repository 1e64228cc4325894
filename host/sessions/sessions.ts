import { createHash, randomBytes, randomUUID } from 'node:crypto'
import type { Login, Tenant } from '../../plugins/security/host.ts'
import type { Limits } from '../../runtime/limits.ts'
import type { Database } from '../database/open.ts'

/** A signed-in browser. It belongs to one solution; in any other it is as if it were absent. */
export type Session = Login & {
  /** An id for lists and for ending it; not the cookie's. */
  readonly publicId: string
  readonly solution: string
  readonly tenant: Tenant | null
  readonly locale: string
  /** Epoch milliseconds. */
  readonly loggedInAt: number
}

export interface Sessions {
  /** @returns the cookie's value: 256 random bits, of which only a hash is stored */
  start(session: Omit<Session, 'publicId' | 'loggedInAt'> & { readonly address: string }): Promise<string>
  /** The session of a cookie, if it is this solution's and neither idle nor too old; the use is noted. */
  find(solution: string, cookie: string): Promise<Session | null>
  end(solution: string, cookie: string): Promise<void>
  endAll(solution: string): Promise<void>
  /** Removes what ended, idled or grew too old longer than `SESSION_ENDED_KEPT` ago. */
  sweep(): Promise<void>
}

/** A use is written at most this often, as a part of the idle time, which it shortens: each request would cost a write. */
const NOTE_USE_PART = 1 / 60

/** @param now the clock, in epoch milliseconds */
export function createSessions(db: Database, limits: Limits, now: () => number = Date.now): Sessions {
  const isOver = (row: { created_at: number; last_seen_at: number; ended_at: number | null }) =>
    row.ended_at !== null ||
    row.last_seen_at + limits.SESSION_IDLE <= now() ||
    row.created_at + limits.SESSION_LIFETIME <= now()

  return {
    async start(session) {
      const cookie = randomBytes(32).toString('base64url')
      await db
        .insertInto('sessions')
        .values({
          id_hash: hashOf(cookie),
          public_id: randomUUID(),
          solution: session.solution,
          username: session.username,
          uid: session.uid,
          permissions: JSON.stringify(session.permissions),
          tenant: session.tenant === null ? null : JSON.stringify(session.tenant),
          locale: session.locale,
          address: session.address,
          created_at: now(),
          last_seen_at: now(),
          ended_at: null,
          source: '',
          selector: null,
        })
        .execute()
      return cookie
    },
    async find(solution, cookie) {
      const row = await db
        .selectFrom('sessions')
        .selectAll()
        .where('id_hash', '=', hashOf(cookie))
        .where('solution', '=', solution)
        .executeTakeFirst()
      if (row === undefined || isOver(row)) return null
      if (row.last_seen_at + limits.SESSION_IDLE * NOTE_USE_PART <= now()) {
        await db.updateTable('sessions').set({ last_seen_at: now() }).where('id_hash', '=', row.id_hash).execute()
      }
      return {
        publicId: row.public_id,
        solution: row.solution,
        username: row.username,
        uid: row.uid,
        permissions: JSON.parse(row.permissions) as string[],
        tenant: row.tenant === null ? null : (JSON.parse(row.tenant) as Tenant),
        locale: row.locale,
        loggedInAt: row.created_at,
      }
    },
    async end(solution, cookie) {
      await db
        .updateTable('sessions')
        .set({ ended_at: now() })
        .where('id_hash', '=', hashOf(cookie))
        .where('solution', '=', solution)
        .where('ended_at', 'is', null)
        .execute()
    },
    async endAll(solution) {
      await db
        .updateTable('sessions')
        .set({ ended_at: now() })
        .where('solution', '=', solution)
        .where('ended_at', 'is', null)
        .execute()
    },
    async sweep() {
      const kept = now() - limits.SESSION_ENDED_KEPT
      await db
        .deleteFrom('sessions')
        .where((row) =>
          row.or([
            row('ended_at', '<', kept),
            row('last_seen_at', '<', kept - limits.SESSION_IDLE),
            row('created_at', '<', kept - limits.SESSION_LIFETIME),
          ]),
        )
        .execute()
    },
  }
}

function hashOf(cookie: string): string {
  return createHash('sha256').update(cookie).digest('hex')
}
