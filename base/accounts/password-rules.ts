import { readFileSync } from 'node:fs'
import type { Limits } from '../../runtime/limits.ts'
import { usernameKey } from './username.ts'

/** Why a password is refused: a key of the platform's texts with the values for it. */
export type PasswordFault = {
  readonly key: `platform.password.${'short' | 'long' | 'characters' | 'common' | 'personal' | 'same'}`
  readonly values: readonly number[]
}

/** Whose password it is to be. */
export type PasswordOwner = { readonly username: string; readonly email: string | null }

/** Characters that a password may have: enough for any sentence, and a bound for what is hashed. */
export const LONGEST_PASSWORD = 256
/** A name of fewer characters is found in too many good passwords. */
const SHORTEST_NAME = 4
/** Digits and signs behind a well-known password make no other one of it: `Summer2026!` is as easy to guess. */
const ENDING = /[\d\p{P}\p{S}]{1,5}$/u
/** What people write for a letter: `P@ssw0rd`. */
const LOOKALIKES: Readonly<Record<string, string>> = {
  '@': 'a',
  0: 'o',
  1: 'i',
  3: 'e',
  4: 'a',
  5: 's',
  7: 't',
  $: 's',
}

/** Some 3,000, in lower case, one a line. */
const COMMON: ReadonlySet<string> = new Set(
  readFileSync(new URL('common-passwords.txt', import.meta.url), 'utf8')
    .trim()
    .split('\n'),
)

/**
 * The rules for a new password: long enough, not one of the well-known, not made of the owner's name. Any character of
 * Unicode is welcome and none is asked for. Passwords that are in use are not measured by it.
 * @returns the first fault, or null; only `faultOfNew` (password-check.ts) can tell the `same` as before, from the hash
 * @see https://cheatsheetseries.owasp.org/cheatsheets/Authentication_Cheat_Sheet.html#implement-proper-password-strength-controls
 */
export function checkNewPassword(password: string, owner: PasswordOwner, limits: Limits): PasswordFault | null {
  if (!password.isWellFormed()) return fault('characters')
  const length = [...password.normalize('NFC')].length
  if (length < limits.PASSWORD_LENGTH) return fault('short', limits.PASSWORD_LENGTH)
  if (length > LONGEST_PASSWORD) return fault('long', LONGEST_PASSWORD)
  if (isPersonal(password, owner)) return fault('personal')
  if (isCommon(password)) return fault('common')
  return null
}

function isPersonal(password: string, { username, email }: PasswordOwner): boolean {
  const text = usernameKey(password)
  const names = [username, email?.split('@', 1)[0] ?? ''].map(usernameKey).filter((name) => name !== '')
  return names.some((name) => text === name || (name.length >= SHORTEST_NAME && text.includes(name)))
}

function isCommon(password: string): boolean {
  const text = usernameKey(password)
  const plain = withoutLookalikes(text)
  // One or two characters, again and again, are on every list, in every length.
  if (new Set(text).size < 3) return true
  return [text, plain, text.replace(ENDING, ''), withoutLookalikes(text.replace(ENDING, ''))].some(isListed)
}

function isListed(text: string): boolean {
  return COMMON.has(text)
}

function withoutLookalikes(text: string): string {
  return text.replace(/[@013457$]/g, (sign) => LOOKALIKES[sign] ?? sign)
}

function fault(name: 'short' | 'long' | 'characters' | 'common' | 'personal', ...values: number[]): PasswordFault {
  return { key: `platform.password.${name}`, values }
}
