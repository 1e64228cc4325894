import { randomUUID } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { faultsOfDirectoryUser } from '../../base/accounts/directory-users.ts'
import type { Passwords } from '../../base/accounts/passwords.ts'
import {
  applyPermissions,
  changedColumns,
  chunksOf,
  columnsOf,
  comparePermissions,
  insertPermissions,
  newRow,
  type PermissionRow,
  permissionRows,
  permissionsOfRows,
  readPermissions,
  type UserRow,
} from '../../base/accounts/user-rows.ts'
import { checkUser } from '../../base/accounts/user-rules.ts'
import { usernameKey } from '../../base/accounts/username.ts'
import type { User, UserPorts, Users } from '../../base/accounts/users.ts'
import { inTransaction, isUniqueViolation } from '../../base/database/portable.ts'
import type { Tables } from '../../base/database/tables.ts'
import { PlatformError } from '../../runtime/errors.ts'
import type { Limits } from '../../runtime/limits.ts'
import type { HostDatabase } from '../database/tables.ts'
import { writeCell, writePermissionCell } from '../http/csv-cells.ts'
import { COLUMNS, type CsvFault, type CsvLine, readLines } from './users-csv-lines.ts'

export interface UsersCsv {
  /**
   * Creates new users and updates existing ones, matched by username. Either all changes apply or none. Users who are
   * not in the file stay unchanged. Missing columns change nothing, nor do empty cells in `enabled` and `password`.
   * Other empty cells clear the value.
   * @throws ERR_REQUEST_INVALID with `faults` by line, at most 1,000; ERR_NAME_EXISTS if another request has created
   *   one of the users first
   */
  import(file: Buffer, options: { readonly dryRun: boolean }): Promise<Imported>
  /** Exports all users as CSV in chunks, sorted by name, without passwords and hashes. */
  export(): AsyncIterable<string>
}

export type Imported = {
  readonly created: number
  readonly changed: number
  readonly unchanged: number
  /** New users without a password, who can't sign in yet. */
  readonly createdWithoutPassword: number
  /** Permissions in the file that are probably mistakes, because no solution lists them; at most ten. */
  readonly unlistedPermissions: readonly string[]
  readonly dryRun: boolean
}

export type UsersCsvParts = {
  readonly db: HostDatabase
  readonly users: Pick<Users, 'list'>
  readonly passwords: Passwords
  readonly limits: Limits
  readonly endAccess: UserPorts['endAccess']
  readonly passwordChanged?: UserPorts['passwordChanged']
  /** Returns the names that are probably mistakes. */
  readonly unlisted: (names: ReadonlySet<string>) => Promise<readonly string[]>
}

const MOST_FAULTS = 1_000
/** Maximum number of passwords per file. Each takes about 20 ms, and the request waits for all of them. */
const MOST_PASSWORDS = 1_000
const EXPORT_PAGE = 500

type Existing = { readonly row: UserRow; readonly permissions: readonly PermissionRow[] }

/** The planned change for a line. If `existing` is null, the user is created. */
type Step = {
  readonly input: CsvLine['input']
  readonly existing: Existing | null
  readonly columns: ReturnType<typeof columnsOf>
  readonly permissions: ReturnType<typeof comparePermissions>
}

/** Imports and exports users as CSV. @param now returns the current time in epoch milliseconds */
export function createUsersCsv(parts: UsersCsvParts, now: () => number = Date.now): UsersCsv {
  const { db, users, passwords, limits, endAccess, passwordChanged, unlisted } = parts

  async function plan(lines: readonly CsvLine[], faults: CsvFault[]): Promise<Step[]> {
    const steps: Step[] = []
    for (const some of chunksOf(lines)) {
      const existing = await readExisting(db, some)
      for (const { line, input } of some) {
        const one = existing.get(usernameKey(input.username)) ?? null
        const owner = {
          username: input.username,
          email: input.email === undefined ? (one?.row.email ?? null) : input.email,
        }
        faults.push(...checkUser(input, owner, limits).map((fault) => ({ line, ...fault })))
        if (one !== null) {
          const ofDirectory = faultsOfDirectoryUser(one.row, permissionsOfRows(one.permissions), input)
          faults.push(...ofDirectory.map((fault) => ({ line, ...fault })))
        }
        steps.push(stepOf(input, one, now()))
      }
      // Yields to other requests, since a file can have thousands of lines.
      await nextTurn()
    }
    return steps
  }

  async function hashAll(steps: readonly Step[]): Promise<Map<Step, string>> {
    const hashes = new Map<Step, string>()
    for (const step of steps) {
      const { password } = step.input
      if (typeof password === 'string') hashes.set(step, await passwords.hash(password, { patient: true }))
    }
    return hashes
  }

  async function apply(steps: readonly Step[], hashes: ReadonlyMap<Step, string>): Promise<void> {
    await inTransaction(db, async (transaction) => {
      for (const some of chunksOf(steps.filter(({ existing }) => existing === null))) {
        const created = some.map((step) => {
          const uid = randomUUID()
          return {
            row: newRow(uid, step.input, hashes.get(step) ?? null, now()),
            permissions: permissionRows(uid, step.input.permissions ?? []),
          }
        })
        await transaction
          .insertInto('users')
          .values(created.map(({ row }) => row))
          .execute()
        await insertPermissions(
          transaction.$pickTables<keyof Tables>(),
          created.flatMap(({ permissions }) => permissions),
        )
        await nextTurn()
      }
      for (const step of steps) {
        if (step.existing === null) continue
        const columns = changedColumns(step.existing.row, step.input, hashes.get(step), now())
        await transaction.updateTable('users').set(columns).where('uid', '=', step.existing.row.uid).execute()
        await applyPermissions(transaction.$pickTables<keyof Tables>(), step.permissions)
        await nextTurn()
      }
    })
  }

  return {
    async import(file, { dryRun }) {
      const { lines, faults: found } = await readLines(file)
      const faults = [...found]
      const steps = await plan(lines, faults)
      if (lines.filter(({ input }) => typeof input.password === 'string').length > MOST_PASSWORDS) {
        faults.push({
          line: 1,
          field: 'password',
          message: `a file may have at most ${MOST_PASSWORDS} passwords: split the file`,
        })
      }
      refuse(faults)
      const unlistedPermissions = await unlisted(permissionNames(lines))
      const work = steps.filter(doesSomething)
      if (!dryRun) {
        const hashes = await hashAll(work)
        await apply(work, hashes).catch((error: unknown) => {
          throw isUniqueViolation(error) ? changedMeanwhile() : error
        })
        for (const some of chunksOf(work.filter(endsAccess))) {
          await Promise.all(some.map(({ existing }) => existing && endAccess(existing.row.uid)))
        }
        for (const { existing, input } of work) {
          // Send the email to the user's previous address, as the API does.
          if (existing !== null && typeof input.password === 'string') passwordChanged?.(existing.row)
        }
      }
      const added = work.filter(({ existing }) => existing === null)
      const created = added.length
      const createdWithoutPassword = added.filter(({ input }) => typeof input.password !== 'string').length
      const changed = work.length - created
      const unchanged = steps.length - work.length
      return { created, changed, unchanged, createdWithoutPassword, unlistedPermissions, dryRun }
    },
    async *export() {
      const { stringify } = await import('csv-stringify/sync')
      yield stringify([[...COLUMNS]], { record_delimiter: 'windows' })
      let after: string | undefined
      do {
        const page = await users.list({ limit: EXPORT_PAGE, after })
        yield stringify(page.items.map(cellsOf), { record_delimiter: 'windows' })
        after = page.next
      } while (after !== undefined)
    },
  }
}

async function readExisting(db: HostDatabase, lines: readonly CsvLine[]): Promise<Map<string, Existing>> {
  const keys = lines.map(({ input }) => usernameKey(input.username))
  const rows = await db.selectFrom('users').selectAll().where('username_key', 'in', keys).execute()
  const permissions = await readPermissions(
    db,
    rows.map(({ uid }) => uid),
  )
  return new Map(rows.map((row) => [row.username_key, { row, permissions: permissions.get(row.uid) ?? [] }]))
}

function permissionNames(lines: readonly CsvLine[]): ReadonlySet<string> {
  const all = lines.flatMap(({ input }) => input.permissions ?? [])
  return new Set(all.map((permission) => (typeof permission === 'string' ? permission : permission.name)))
}

function stepOf(input: CsvLine['input'], existing: Existing | null, now: number): Step {
  const columns = columnsOf(input, undefined, now)
  const has = existing?.permissions ?? []
  const wanted = input.permissions === undefined ? has : permissionRows(existing?.row.uid ?? '', input.permissions)
  return { input, existing, columns, permissions: comparePermissions(has, wanted) }
}

function doesSomething({ input, existing, columns, permissions }: Step): boolean {
  if (existing === null || typeof input.password === 'string') return true
  if (permissions.added.length > 0 || permissions.removed.length > 0) return true
  return Object.entries(columns).some(([column, value]) => existing.row[column as keyof UserRow] !== value)
}

function endsAccess({ input, permissions }: Step): boolean {
  return permissions.removed.length > 0 || input.enabled === false || typeof input.password === 'string'
}

function cellsOf({ username, displayName, email, enabled, permissions }: User): string[] {
  return [username, displayName ?? '', email ?? '', String(enabled), writePermissionCell(permissions)].map(writeCell)
}

function refuse(faults: readonly CsvFault[]): void {
  if (faults.length === 0) return
  const inOrder = faults.toSorted((one, other) => one.line - other.line)
  const count = faults.length === 1 ? 'one error' : `${faults.length} errors`
  throw new PlatformError('ERR_REQUEST_INVALID', `The file has ${count}; no users were imported.`, {
    faults: inOrder.slice(0, MOST_FAULTS),
  })
}

function changedMeanwhile(): PlatformError {
  return new PlatformError(
    'ERR_NAME_EXISTS',
    'During the import, someone else created a user that is in this file, so no users were imported. Import the file again.',
  )
}
