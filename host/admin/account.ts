import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { hash, verify } from '@node-rs/argon2'
import type { Database } from '../database/open.ts'

/** Argon2id, 19 MiB, t=2, p=1 (design section 8, OWASP's advice); the library's default algorithm is Argon2id. */
const ARGON2 = { memoryCost: 19 * 1024, timeCost: 2, parallelism: 1 } as const

export type AdminAccount = {
  readonly name: string
  readonly checkPassword: (password: string) => Promise<boolean>
}

/** Where a made password can be found: shown once on a terminal, else in a file. */
export type MadePassword = { readonly password: string } | { readonly file: string }

/** A password that was made and is not kept yet: a start that fails later must not leave one that nobody has seen. */
export type NewPassword = { readonly keep: () => Promise<MadePassword> }

/**
 * The operator's account. A password of the settings wins; without one, the first start makes one and keeps its hash.
 * @returns also the made password, once: the start that made it keeps it as its last step
 */
export async function openAdminAccount(
  db: Database,
  options: { readonly name: string; readonly password: string; readonly home: string; readonly terminal: boolean },
): Promise<{ account: AdminAccount; made: NewPassword | null }> {
  const { name } = options
  if (options.password !== '') return { account: accountOf(name, await hash(options.password, ARGON2)), made: null }
  const kept = await db.selectFrom('platform').select('value').where('key', '=', 'admin_password').executeTakeFirst()
  if (kept) return { account: accountOf(name, kept.value), made: null }
  const password = randomBytes(18).toString('base64url')
  const passwordHash = await hash(password, ARGON2)
  async function keep(): Promise<MadePassword> {
    const shown = handOver(password, options)
    await db.insertInto('platform').values({ key: 'admin_password', value: passwordHash }).execute()
    return shown
  }
  return { account: accountOf(name, passwordHash), made: { keep } }
}

function accountOf(name: string, passwordHash: string): AdminAccount {
  return { name, checkPassword: (password) => verify(passwordHash, password) }
}

function handOver(password: string, options: { readonly home: string; readonly terminal: boolean }): MadePassword {
  if (options.terminal) return { password }
  const file = join(options.home, 'admin-password')
  writeFileSync(file, `${password}\n`, { mode: 0o600 })
  return { file }
}
