import { PlatformError } from '../../runtime/errors.ts'
import type { Limits } from '../../runtime/limits.ts'
import { isVisible, UNFIT, visible } from '../../runtime/visible-name.ts'
import { normalized } from '../program/normalized.ts'
import { platformText } from '../web/texts.ts'
import { checkNewPassword, type PasswordOwner } from './password-rules.ts'
import { usernameKey } from './username.ts'

/** A permission without a solution's name is valid in all solutions. */
export type Permission = string | { readonly name: string; readonly solution: string }

/** The fields of a user to set. Absent fields stay unchanged; null clears a field. */
export type UserInput = {
  readonly username?: string | undefined
  readonly displayName?: string | null | undefined
  readonly email?: string | null | undefined
  /** The language of emails to the user, such as `nl` or `pt-BR`. */
  readonly locale?: string | null | undefined
  readonly enabled?: boolean | undefined
  /**
   * Whether the user must choose another password at the next sign-in. If the input sets a password, the default is
   * true.
   */
  readonly mustChangePassword?: boolean | undefined
  readonly permissions?: readonly Permission[] | undefined
  /** If null, the user can't sign in with a password. */
  readonly password?: string | null | undefined
}

/** An error in the input. `key` and `values` are set if there is a translated message for the platform's pages. */
export type UserFault = {
  readonly field: keyof UserInput
  readonly message: string
  readonly key?: string
  readonly values?: readonly number[]
}

export const LONGEST_NAME = 200
/** RFC 5321, section 4.5.3.1.3: a path of 256 octets, minus its angle brackets. */
const LONGEST_EMAIL = 254
/** The length of the database column. PERMISSION_LENGTH can't exceed it. */
const LONGEST_PERMISSION = 255
const SOLUTION_NAME = /^(?!.{2}--)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/

/** @param owner the user after the change, for the password rules @returns all errors, in the order of the fields */
export function checkUser(input: UserInput, owner: PasswordOwner, limits: Limits): UserFault[] {
  return [
    ...fieldFaults('username', input.username, isUsername, `must be 1 to ${LONGEST_NAME} visible characters`),
    ...fieldFaults('displayName', input.displayName, isName, `must be 1 to ${LONGEST_NAME} visible characters`),
    ...fieldFaults('email', input.email, isEmail, `must be an email address of at most ${LONGEST_EMAIL} characters`),
    ...fieldFaults('locale', input.locale, isLocale, 'must be a language tag such as nl or pt-BR'),
    ...faultsOfPermissions(input.permissions ?? [], limits),
    ...passwordFaults(input.password, owner, limits),
  ]
}

/** @throws ERR_REQUEST_INVALID with `faults`, if there are any */
export function refuse(faults: readonly UserFault[]): void {
  if (faults.length === 0) return
  const [{ message }] = faults as [UserFault]
  const more = faults.length > 1 ? ` (the first of ${faults.length} errors)` : ''
  throw new PlatformError('ERR_REQUEST_INVALID', `${message}${more}`, { faults: faults.slice(0, 100) })
}

/** Returns the name as it is stored: trimmed, and in NFC so that it looks the same everywhere. */
export function tidyName(name: string): string {
  return normalized(name, 'NFC').trim()
}

function fieldFaults(
  field: keyof UserInput,
  value: string | null | undefined,
  isRight: (value: string) => boolean,
  must: string,
): UserFault[] {
  return value === null || value === undefined || isRight(value) ? [] : [{ field, message: `${field} ${must}` }]
}

function isUsername(text: string): boolean {
  // NFKC expands some characters, so the key could be too long for its column even if the name is not.
  return isName(text) && usernameKey(text).length > 0 && usernameKey(text).length <= LONGEST_NAME
}

function isName(text: string): boolean {
  const name = tidyName(text)
  return name.length > 0 && name.length <= LONGEST_NAME && !UNFIT.test(name)
}

function isEmail(text: string): boolean {
  // Checks only the rules that all mail servers share. An email must be sent to find out whether the address exists.
  return text.length <= LONGEST_EMAIL && !UNFIT.test(text) && /^[^\s@]+@[^\s@]+$/u.test(text)
}

function isLocale(text: string): boolean {
  return /^[A-Za-z]{2,3}(?:-[A-Za-z0-9]{2,8}){0,3}$/.test(text)
}

export function faultsOfPermissions(permissions: readonly Permission[], limits: Limits): UserFault[] {
  const field = 'permissions'
  const longest = Math.min(limits.PERMISSION_LENGTH, LONGEST_PERMISSION)
  if (permissions.length > limits.PERMISSIONS) {
    return [{ field, message: `at most ${limits.PERMISSIONS} permissions are allowed (set by the limit PERMISSIONS)` }]
  }
  return permissions.flatMap((permission, at): UserFault[] => {
    const { name, solution } = typeof permission === 'string' ? { name: permission, solution: '' } : permission
    if (name.length === 0 || name.length > longest || !isVisible(name)) {
      return [
        { field, message: `permission ${at + 1} must be ${visible(longest)} (set by the limit PERMISSION_LENGTH)` },
      ]
    }
    if (typeof permission === 'string' || SOLUTION_NAME.test(solution)) return []
    return [
      {
        field,
        message: `the solution name in permission ${at + 1} must be 1 to 63 lowercase letters, digits and hyphens`,
      },
    ]
  })
}

function passwordFaults(password: string | null | undefined, owner: PasswordOwner, limits: Limits): UserFault[] {
  if (password === null || password === undefined) return []
  const fault = checkNewPassword(password, owner, limits)
  return fault === null ? [] : [{ field: 'password', message: platformText('en', fault.key, fault.values), ...fault }]
}
