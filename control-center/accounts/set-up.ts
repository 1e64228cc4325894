import { randomBytes } from 'node:crypto'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isSameSecret } from '../../base/accounts/same-secret.ts'
import type { CenterDatabase } from '../database/tables.ts'

/**
 * The set-up code, which is required to create the first account. Only the person who starts the control center sees
 * it.
 */
export interface SetUp {
  /** Whether there is no account yet. */
  isOpen(): Promise<boolean>
  isCode(code: string): boolean
  /** Deletes the file that contains the code. Call this once an account exists. */
  close(): void
  /** The code, or the path of the file that contains it; null if an account exists. */
  readonly shown: { readonly code: string } | { readonly file: string } | null
}

/**
 * Creates a new code each time the control center starts, until an account exists.
 * @param terminal whether a person reads the output; if not, the code is written to a file
 */
export async function openSetUp(db: CenterDatabase, home: string, terminal: boolean): Promise<SetUp> {
  const isOpen = async () => (await db.selectFrom('users').select('uid').limit(1).executeTakeFirst()) === undefined
  const file = join(home, 'set-up-code')
  rmSync(file, { force: true })
  if (!(await isOpen())) return { isOpen: async () => false, isCode: () => false, close() {}, shown: null }
  const code = randomBytes(18).toString('base64url')
  if (!terminal) writeFileSync(file, `${code}\n`, { mode: 0o600 })
  return {
    isOpen,
    isCode: (given) => isSameSecret(given, code),
    close: () => rmSync(file, { force: true }),
    shown: terminal ? { code } : { file },
  }
}
