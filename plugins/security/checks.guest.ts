import type { GuestApi } from '../../runtime/sandbox/guest-api.d.ts'

/** Checks the arguments that scripts pass. Error messages start with `what`. */
export function createChecks(api: Pick<GuestApi, 'safe' | 'limits' | 'list' | 'lengthOf' | 'quotaError'>) {
  const { safe, limits } = api

  function needText(value: unknown, what: string): string {
    if (typeof value === 'string') return value
    throw new safe.TypeError(`${what} must be a string, but is ${value === null ? 'null' : typeof value}`)
  }

  /** Limits the length, since hashing time grows with it. */
  function needCredential(value: unknown, what: string): string {
    const text = needText(value, what)
    if (text.length <= 1000) return text
    throw new safe.TypeError(`${what} may have at most 1000 characters`)
  }

  function optionalText(value: unknown, what: string, longest: number): string | null {
    if (value === undefined || value === null) return null
    if (needText(value, what).length <= longest) return value as string
    throw new safe.TypeError(`${what} may have at most ${longest} characters`)
  }

  /** Must be the same rule as `Reason` in host.ts. */
  function needReason(value: unknown): string {
    const text = needText(value, 'security.confirm: reason')
    if (isName(text)) return text
    throw new safe.TypeError('security.confirm: reason must have 1 to 200 characters and no control characters')
  }

  function readEvery(options: unknown): boolean {
    if (options === undefined || options === null) return false
    const every: unknown = typeof options === 'object' ? (options as { every?: unknown }).every : 'not an object'
    if (every === undefined || typeof every === 'boolean') return every === true
    throw new safe.TypeError('security.confirm: options must be an object such as { every: true }')
  }

  function isName(text: string): boolean {
    return text.length > 0 && text.length <= 200 && isPlain(text)
  }

  /** No control characters, no bidirectional formatting characters, no lone surrogates. */
  function isPlain(text: string): boolean {
    const odd = /[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/
    return safe.isWellFormed(text) && safe.match(odd, text) === null
  }

  /** Must be the same rule as `runtime/visible-name.ts`. */
  function isVisible(text: string): boolean {
    const odd = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]|(?![\u200c\u200d])\p{Cf}|^\s|\s$/u
    return safe.match(odd, text) === null
  }

  /** Reads each element once, so that a getter cannot return a different value after the check. */
  function readPermissions(value: unknown): string[] {
    if (!safe.isArray(value)) throw new safe.TypeError('security.login: permissions must be an array of strings')
    const count = api.lengthOf(value)
    const most = limits.PERMISSIONS as number
    if (count > most) throw api.quotaError('PERMISSIONS', most, count)
    const read = api.list<string>()
    for (let index = 0; index < count; index++) {
      const name = needText(value[index], `security.login: permissions[${index}]`)
      const longest = limits.PERMISSION_LENGTH as number
      if (name.length > longest) throw api.quotaError('PERMISSION_LENGTH', longest, name.length)
      if (!isVisible(name)) {
        const wish = `1 to ${longest} visible characters without spaces at the start or end`
        throw new safe.TypeError(`security.login: permissions[${index}] must be ${wish}`)
      }
      read[index] = name
    }
    return read
  }

  function readTenant(value: unknown): (string | number)[] {
    const read = api.list<string | number>()
    const given = safe.isArray(value) ? value : [value]
    const count = api.lengthOf(given)
    if (count === 0 || count > 100) throw new safe.TypeError('security.setTenantValue: pass 1 to 100 values')
    for (let index = 0; index < count; index++) {
      const one: unknown = given[index]
      const text = typeof one === 'string' && one.length <= 200 && safe.isWellFormed(one)
      if (!text && !(typeof one === 'number' && safe.isFinite(one))) {
        throw new safe.TypeError(
          'security.setTenantValue: each value must be a number or a string of at most 200 characters',
        )
      }
      read[index] = one as string | number
    }
    return read
  }

  return { needText, needCredential, optionalText, isName, needReason, readEvery, readPermissions, readTenant }
}
