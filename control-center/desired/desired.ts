import { readWith } from '../../base/api/read-with.ts'
import { insertOnce, isUniqueViolation } from '../../base/database/portable.ts'
import { type DesiredSettings, DesiredState } from '../../base/protocol/protocol.ts'
import { PlatformError } from '../../runtime/errors.ts'
import type { CenterDatabase } from '../database/tables.ts'
import type { VersionHolder } from '../packages/packages.ts'
import { lockPackage, lockVersion } from '../packages/version-lock.ts'
import type { Signing } from '../signing/signing.ts'

/** The desired state of an environment, without the fields that are added during signing. */
export type DesiredContent = { readonly solutions: DesiredState['solutions']; readonly settings: DesiredSettings }

/** Until something is requested for the environment, `number` is 0 and `issuedAt` is null. */
export type Desired = DesiredContent & { readonly number: number; readonly issuedAt: number | null }

/** The desired state of each environment, as signed statements with increasing sequence numbers. */
export interface DesiredStates {
  get(environment: string): Promise<Desired>
  /**
   * Applies `change` to the newest statement, then signs and stores the result in one transaction. Concurrent changes
   * are applied sequentially. The environment's token gets read access to the solutions in the statement.
   * @param change returns null to leave the statement unchanged
   * @param isBack whether the change restores earlier versions, whose packages may have been deleted
   * @throws ERR_REQUEST_INVALID if the statement would be too long, or would contain too many solutions
   * @throws ERR_VERSION_NOT_FOUND if it contains a version that was deleted in the meantime
   */
  change(
    environment: string,
    change: (last: Desired) => DesiredContent | null | Promise<DesiredContent | null>,
    isBack?: boolean,
  ): Promise<Desired>
  /** The newest statement with its sequence number; null if there is none. */
  statement(environment: string): Promise<{ readonly number: number; readonly statement: string } | null>
  /** The sequence numbers of all environments, in one query. */
  numbers(): Promise<ReadonlyMap<string, number>>
  /**
   * Describes an environment whose desired state contains a version; null if there is none. Called before a version is
   * deleted.
   */
  readonly holder: VersionHolder
}

const NOTHING: Desired = { number: 0, issuedAt: null, solutions: {}, settings: {} }
/** Maximum attempts when others change the same environment concurrently. */
const MOST_TRIES = 10

/**
 * @param changed called after each change is written
 * @param now returns the current time in epoch milliseconds
 */
export function createDesiredStates(
  db: CenterDatabase,
  signing: Signing,
  changed: (environment: string, number: number) => void,
  now: () => number = Date.now,
): DesiredStates {
  async function read(from: CenterDatabase, environment: string): Promise<Desired> {
    const row = await from
      .selectFrom('desired_states')
      .select(['number', 'issued_at', 'content'])
      .where('environment', '=', environment)
      .executeTakeFirst()
    if (row === undefined) return NOTHING
    return { number: row.number, issuedAt: row.issued_at, ...(JSON.parse(row.content) as DesiredContent) }
  }

  /** @returns null if a concurrent change was stored first */
  async function tryChange(environment: string, change: Parameters<DesiredStates['change']>[1], isBack: boolean) {
    const last = await read(db, environment)
    const wanted = await change(last)
    if (wanted === null) return last
    const { solutions, settings } = wanted
    const issuedAt = now()
    const number = nextNumber(last.number, issuedAt)
    // Don't sign a state that a Satellite would reject.
    const state = readWith(DesiredState, { environment, number, issuedAt, solutions, settings })
    const statement = await signing.sign(state)
    const row = { number, issued_at: issuedAt, content: JSON.stringify({ solutions, settings }), statement }
    const isWritten = await db.transaction().execute(async (transaction) => {
      await lockNew(transaction, environment, last.solutions, solutions, isBack)
      if (!(await writeNext(transaction, environment, last.number, row))) return false
      for (const solution of Object.keys(solutions)) {
        await insertOnce(transaction, 'environment_solutions', { environment, solution, added_at: issuedAt })
      }
      return true
    })
    return isWritten ? { number, issuedAt, solutions, settings } : null
  }

  /** Locks the packages of new versions. Locks them in the order of their names to prevent deadlocks. */
  async function lockNew(
    transaction: CenterDatabase,
    environment: string,
    last: DesiredContent['solutions'],
    wanted: DesiredContent['solutions'],
    isBack: boolean,
  ): Promise<void> {
    const added = Object.entries(wanted).filter(([name, { sha256 }]) => last[name]?.sha256 !== sha256)
    if (added.length === 0) return
    const { organisation } = await transaction
      .selectFrom('environments')
      .select('organisation')
      .where('id', '=', environment)
      .executeTakeFirstOrThrow()
    for (const [name, { sha256 }] of added.sort(([a], [b]) => (a < b ? -1 : 1))) {
      if (isBack) await lockPackage(transaction, organisation, name)
      else await lockVersion(transaction, organisation, name, sha256)
    }
  }

  return {
    get: (environment) => read(db, environment),
    async change(environment, change, isBack = false) {
      for (let tries = 0; tries < MOST_TRIES; tries++) {
        const done = await tryChange(environment, change, isBack).catch((error: unknown) => {
          if (isUniqueViolation(error)) return null
          throw error
        })
        if (done === null) continue
        changed(environment, done.number)
        return done
      }
      throw new PlatformError(
        'ERR_REQUEST_INVALID',
        'Other requests changed this environment at the same time. Try again.',
      )
    },
    async statement(environment) {
      const query = db.selectFrom('desired_states').select(['number', 'statement'])
      return (await query.where('environment', '=', environment).executeTakeFirst()) ?? null
    },
    async holder(from, organisation, name, sha256) {
      const rows = await from
        .selectFrom('desired_states')
        .innerJoin('environments', 'environments.id', 'desired_states.environment')
        .select(['environments.name', 'desired_states.content'])
        .where('environments.organisation', '=', organisation)
        .orderBy('environments.name')
        .execute()
      const isHeld = ({ content }: { content: string }) =>
        (JSON.parse(content) as DesiredContent).solutions[name]?.sha256 === sha256
      const holding = rows.find(isHeld)
      return holding === undefined
        ? null
        : `the desired state of the environment "${holding.name}" contains this version; change the desired state first`
    },
    async numbers() {
      const rows = await db.selectFrom('desired_states').select(['environment', 'number']).execute()
      return new Map(rows.map(({ environment, number }) => [environment, number]))
    },
  }
}

/**
 * Chosen here: a sequence number is the time in seconds, or the last number plus one if that is higher. So the numbers
 * keep increasing even if the control center's database is restored from a backup. Satellites would reject a statement
 * with a lower number than the one they have.
 */
function nextNumber(last: number, now: number): number {
  return Math.max(last + 1, Math.floor(now / 1000))
}

type Row = { number: number; issued_at: number; content: string; statement: string }

/** Stores a statement. @returns false if the stored sequence number is no longer `last` */
async function writeNext(db: CenterDatabase, environment: string, last: number, row: Row): Promise<boolean> {
  if (last === 0) return insertOnce(db, 'desired_states', { environment, ...row })
  const { numUpdatedRows } = await db
    .updateTable('desired_states')
    .set(row)
    .where('environment', '=', environment)
    .where('number', '=', last)
    .executeTakeFirst()
  return numUpdatedRows === 1n
}
