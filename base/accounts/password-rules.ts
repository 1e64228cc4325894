import { readFileSync } from 'node:fs'
import type { Limits } from '../../runtime/limits.ts'
import { normalized } from '../program/normalized.ts'
import { usernameKey } from './username.ts'

/** Why a password is rejected, as a key in the platform's message tables and the values for its placeholders. */
export type PasswordFault = {
  readonly key: `platform.password.${'short' | 'long' | 'characters' | 'common' | 'personal' | 'same'}`
  readonly values: readonly number[]
}

/** The account that the password is for. */
export type PasswordOwner = { readonly username: string; readonly email: string | null }

/** Maximum length of a password, in characters. It is enough for any passphrase, and limits the cost of hashing. */
export const LONGEST_PASSWORD = 256
/** Shorter names are ignored, because they also occur in many good passwords. */
const SHORTEST_NAME = 4
/** Digits and symbols after a common password don't make it stronger: `Summer2026!` is as easy to guess. */
const ENDING = /[\d\p{P}\p{S}]{1,5}$/u
/** Characters that people substitute for letters: `P@ssw0rd`. */
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

/** About 3,000 common passwords, in lower case, one per line. */
const COMMON: ReadonlySet<string> = new Set(
  readFileSync(new URL('common-passwords.txt', import.meta.url), 'utf8')
    .trim()
    .split('\n'),
)

/**
 * Checks that a new password is long enough, not common and not based on the owner's name. All Unicode characters are
 * allowed, and no kind of character is required. Existing passwords aren't checked.
 * @returns the first error, or null. The error `same` can be detected only with the hash, so `faultOfNew` in
 * password-check.ts returns it.
 * @see
 * https://cheatsheetseries.owasp.org/cheatsheets/Authentication_Cheat_Sheet.html#implement-proper-password-strength-controls
 */
export function checkNewPassword(password: string, owner: PasswordOwner, limits: Limits): PasswordFault | null {
  if (!password.isWellFormed()) return fault('characters')
  const length = [...normalized(password, 'NFC')].length
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
  // Passwords with only one or two different characters are easy to guess, whatever their length.
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
