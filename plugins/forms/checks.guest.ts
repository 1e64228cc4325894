import type { Api } from './types.guest.ts'

export type Checks = ReturnType<typeof createChecks>

/** Validates values from scripts and users. Each check throws a TypeError with the property's name. */
export function createChecks(api: Api) {
  const { safe } = api

  function fail(path: string, wish: string, value: unknown): never {
    const given = typeof value === 'string' ? safe.stringify(value) : safe.describe(value)
    const advice = safe.isPromise(value) ? '; use "await" to get its value' : ''
    throw new safe.TypeError(`${path} must be ${wish}, not ${safe.slice(given, 0, 100)}${advice}`)
  }

  /**
   * @param isSecret whether to omit the value from errors. The log redacts passwords, but would not recognise part of
   * one.
   */
  function readText(path: string, value: unknown, most: number, isMany: boolean, isSecret = false): string {
    if (value === null || value === undefined) return ''
    const form = isMany ? /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]/ : /[\x00-\x1f\x7f-\x9f]/
    if (
      typeof value !== 'string' ||
      value.length > most ||
      !safe.isWellFormed(value) ||
      safe.match(form, value) !== null
    ) {
      const wish = `a string of at most ${most} characters without control characters`
      fail(path, wish, isSecret && typeof value === 'string' ? '…' : value)
    }
    return value
  }

  function isKey(value: unknown): value is string | number {
    if (typeof value === 'string') return value !== '' && value.length <= 200 && safe.isWellFormed(value)
    return typeof value === 'number' && safe.isFinite(value)
  }

  function isDay(value: unknown): value is string {
    if (typeof value !== 'string' || safe.match(/^\d{4}-\d{2}-\d{2}$/, value) === null) return false
    const year = +safe.slice(value, 0, 4)
    const month = +safe.slice(value, 5, 7)
    const day = +safe.slice(value, 8, 10)
    const isLeap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0
    const most = month === 2 ? (isLeap ? 29 : 28) : month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31
    return month >= 1 && month <= 12 && day >= 1 && day <= most
  }

  function listOf(
    path: string,
    value: unknown,
    most: number,
    what: string,
  ): { list: readonly unknown[]; length: number } {
    if (!safe.isArray(value)) return fail(path, `a list of at most ${most} ${what}`, value)
    const length = api.lengthOf(value)
    if (length > most) fail(path, `a list of at most ${most} ${what}`, `a list of ${length}`)
    return { list: value, length }
  }

  /**
   * Checks the size of validated items. The items were serialised and parsed again, so no getter of a script can run
   * here.
   * @param item size of the last item, which must fit in one command
   * @param all total size of the list so far, which is limited per call
   */
  function spend(path: string, item: number, all: number): void {
    const most = (api.limits.ARGUMENT_SIZE as number) - pieceOf(api)
    if (item > most) throw api.quotaError('ARGUMENT_SIZE', most, item, `${path} has an item that is too large`)
    const mostOfAll = api.limits.CLIENT_COMMANDS_SIZE as number
    if (all > mostOfAll) throw api.quotaError('CLIENT_COMMANDS_SIZE', mostOfAll, all, `${path} is too large`)
  }

  return { fail, readText, isKey, isDay, listOf, spend }
}

/**
 * Maximum size of one command, in characters as counted by `sizeOf`. In JSON, one character can become six, and the
 * structure around the values adds little. A value within this limit therefore always fits in a command.
 */
export function pieceOf({ limits }: Api): number {
  return (limits.ARGUMENT_SIZE as number) / 8
}
