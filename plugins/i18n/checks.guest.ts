import type { GuestApi } from '../../runtime/sandbox/guest-api.d.ts'

/** Checks the arguments that scripts pass. `what` is the function's name for error messages. */
export function createChecks({ safe }: Pick<GuestApi, 'safe'>) {
  function readLanguage(value: unknown, what: string): string {
    const text = typeof value === 'string' ? safe.lowerCase(value) : ''
    if (safe.match(/^[a-z]{2,3}$/, text) !== null) return text
    throw new safe.TypeError(`${what}: language must be two or three letters, such as "nl"`)
  }

  function readCountry(value: unknown, what: string): string {
    if (value === undefined || value === null || value === '') return ''
    const text = typeof value === 'string' ? safe.upperCase(value) : ''
    if (safe.match(/^([A-Z]{2}|[0-9]{3})$/, text) !== null) return text
    throw new safe.TypeError(`${what}: country must be two letters, such as "BE", or left out`)
  }

  function readKey(value: unknown, what: string): string {
    if (typeof value === 'string' && value.length > 0 && value.length <= 200) return value
    throw new safe.TypeError(`${what}: key must be a string of 1 to 200 characters`)
  }

  return { readLanguage, readCountry, readKey }
}
