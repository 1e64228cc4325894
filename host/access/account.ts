import { randomBytes } from 'node:crypto'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type HashCost, hashPassword, verifyPassword } from '../../base/accounts/passwords.ts'
import { insertOnce, put } from '../../base/database/portable.ts'
import { storedHash } from '../../base/database/stored-hash.ts'
import { PlatformError } from '../../runtime/errors.ts'
import type { HostDatabase } from '../database/tables.ts'

export type AdminAccount = {
  readonly name: string
  readonly checkPassword: (password: string) => Promise<boolean>
  /** Changes only when the name or the password changes; a change invalidates all sessions. */
  readonly fingerprint: string
}

/** How the operator gets a generated password: it is shown once on a terminal, or stored in a file. */
export type GeneratedPassword = { readonly password: string } | { readonly file: string }

/**
 * A generated password, before it is stored. The caller stores it only once the host has started. Otherwise, a failed
 * startup could leave a password that no one has seen.
 */
export type NewPassword = { readonly keep: () => Promise<GeneratedPassword> }

/**
 * Loads the operator's account. A configured password takes precedence. Without one, the host generates a password on
 * its first startup and stores its hash.
 * @returns the account and, on the first startup, the generated password, which the caller stores as the last step
 */
export async function openAdminAccount(
  db: HostDatabase,
  options: {
    readonly name: string
    readonly password: string
    readonly home: string
    readonly terminal: boolean
    readonly passwordCost?: HashCost | undefined
  },
): Promise<{ account: AdminAccount; newPassword: NewPassword | null }> {
  const { name, passwordCost } = options
  if (options.password !== '') {
    return { account: accountOf(name, await hashOfSet(db, options.password, passwordCost)), newPassword: null }
  }
  const kept = await db.selectFrom('platform').select('value').where('key', '=', 'admin_password').executeTakeFirst()
  if (kept) return { account: accountOf(name, kept.value), newPassword: null }
  const password = randomBytes(18).toString('base64url')
  const passwordHash = await hashPassword(password, passwordCost)
  async function keep(): Promise<GeneratedPassword> {
    const shown = handOver(password, options)
    if (await insertOnce(db, 'platform', { key: 'admin_password', value: passwordHash })) return shown
    if ('file' in shown) rmSync(shown.file)
    throw new PlatformError(
      'ERR_SETTINGS_INVALID',
      'Another node created the admin password at the same time. Restart this node to use it.',
    )
  }
  return { account: accountOf(name, passwordHash), newPassword: { keep } }
}

/** Returns the same hash at each startup and on every node, as long as the configured password stays the same. */
async function hashOfSet(db: HostDatabase, password: string, cost?: HashCost): Promise<string> {
  const key = 'admin_password_of_settings'
  const kept = await db.selectFrom('platform').select('value').where('key', '=', key).executeTakeFirst()
  if (kept && (await verifyPassword(kept.value, password))) return kept.value
  const value = await hashPassword(password, cost)
  await put(db, 'platform', ['key'], { key, value })
  return value
}

function accountOf(name: string, passwordHash: string): AdminAccount {
  return {
    name,
    checkPassword: (password) => verifyPassword(passwordHash, password),
    fingerprint: storedHash(`${name}\n${passwordHash}`),
  }
}

function handOver(password: string, options: { readonly home: string; readonly terminal: boolean }): GeneratedPassword {
  if (options.terminal) return { password }
  const file = join(options.home, 'admin-password')
  writeFileSync(file, `${password}\n`, { mode: 0o600 })
  return { file }
}
