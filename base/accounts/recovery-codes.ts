import { randomBytes } from 'node:crypto'
import { hashRaw } from '@node-rs/argon2'
import type { Database } from '../database/open.ts'
import { randomLetters } from '../program/random-text.ts'
import { accountId, type FactorAccount } from './factor-account.ts'
import type { Passwords } from './passwords.ts'

/** Codes that let users sign in if they have lost a factor. Each code can be used once. */
export interface RecoveryCodes {
  /** Creates codes when a factor is added, replacing the old ones. @returns the codes, which are stored only as hashes */
  create(account: FactorAccount): Promise<readonly string[]>
  /** Like `create`, but the user requested the codes. `noticeChanges` sends an email about them. */
  renew(account: FactorAccount): Promise<readonly string[]>
  /** @returns the number of codes left; null if this code is wrong or was used before */
  use(account: FactorAccount, code: string): Promise<number | null>
}

const COUNT = 10
/** Crockford's base 32: 5 bits per character, without letters that look like digits. */
const LETTERS = '0123456789abcdefghjkmnpqrstvwxyz'
const LENGTH = 10
/** The same parameters as for passwords: see passwords.ts. */
const ARGON2 = { memoryCost: 19 * 1024, timeCost: 2, parallelism: 1, outputLen: 32 } as const

/**
 * @param now returns the current time in epoch milliseconds
 * @param argon2 the hash function; tests pass a cheaper one
 */
export function createRecoveryCodes(
  db: Database,
  passwords: Pick<Passwords, 'run'>,
  now: () => number = Date.now,
  argon2: typeof hashRaw = hashRaw,
): RecoveryCodes {
  /** All codes in a set share a salt, so the user's input is hashed only once to compare it with all of them. */
  async function hashOf(code: string, salt: string): Promise<string> {
    const bytes = await passwords.run(() => argon2(code, { ...ARGON2, salt: Buffer.from(salt, 'base64url') }))
    return bytes.toString('base64url')
  }

  async function create(account: FactorAccount): Promise<readonly string[]> {
    const id = accountId(account)
    const salt = randomBytes(16).toString('base64url')
    const codes = Array.from({ length: COUNT }, () => randomLetters(LENGTH, LETTERS))
    const rows: { account: string; hash: string; salt: string; used_at: null }[] = []
    for (const code of codes) rows.push({ account: id, hash: await hashOf(code, salt), salt, used_at: null })
    await db.transaction().execute(async (transaction) => {
      await transaction.deleteFrom('recovery_codes').where('account', '=', id).execute()
      for (const row of rows) await transaction.insertInto('recovery_codes').values(row).execute()
    })
    return codes.map((code) => `${code.slice(0, LENGTH / 2)}-${code.slice(LENGTH / 2)}`)
  }

  return {
    create,
    renew: create,
    async use(account, code) {
      const id = accountId(account)
      const typed = readCode(code)
      const left = await db
        .selectFrom('recovery_codes')
        .select(['hash', 'salt'])
        .where('account', '=', id)
        .where('used_at', 'is', null)
        .execute()
      const [first] = left
      if (typed === null || first === undefined) return null
      const { numUpdatedRows } = await db
        .updateTable('recovery_codes')
        .set({ used_at: now() })
        .where('account', '=', id)
        .where('hash', '=', await hashOf(typed, first.salt))
        .where('used_at', 'is', null)
        .executeTakeFirst()
      return numUpdatedRows > 0n ? left.length - 1 : null
    },
  }
}

/**
 * @returns the typed code, in which letters that look like digits are replaced by those digits. Null if it can't be a
 * code.
 */
function readCode(typed: string): string | null {
  const code = typed.toLowerCase().replace(/[\s-]/g, '').replaceAll('o', '0').replace(/[il]/g, '1')
  return code.length === LENGTH && [...code].every((letter) => LETTERS.includes(letter)) ? code : null
}
