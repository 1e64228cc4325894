import type { GuestApi } from '../../runtime/sandbox/guest-api.d.ts'

type Parameter = string | number | boolean | null

export default function database(api: GuestApi) {
  const { safe } = api
  const what = 'plugins.database.query'

  function readText(value: unknown, argument: string, longest: number): string {
    if (typeof value !== 'string') {
      throw new safe.TypeError(
        `${what}: ${argument} must be a string, but is ${value === null ? 'null' : typeof value}`,
      )
    }
    if (value.length > 0 && value.length <= longest && safe.isWellFormed(value)) return value
    throw new safe.TypeError(`${what}: ${argument} must have 1 to ${longest} characters`)
  }

  /** Reads each element once, so that a getter cannot return a different value after the check. */
  function readParameters(value: unknown): Parameter[] {
    const read = api.list<Parameter>()
    if (value === undefined || value === null) return read
    if (!safe.isArray(value)) throw new safe.TypeError(`${what}: parameters must be an array`)
    const count = api.lengthOf(value)
    if (count > 1000) throw new safe.TypeError(`${what}: parameters may have at most 1000 items`)
    for (let index = 0; index < count; index++) read[index] = readParameter(value[index], index)
    return read
  }

  function readParameter(value: unknown, index: number): Parameter {
    if (value === null || typeof value === 'boolean') return value
    if (typeof value === 'number' && safe.isFinite(value)) return value
    if (typeof value === 'string' && safe.isWellFormed(value)) return value
    throw new safe.TypeError(
      `${what}: parameters[${index}] must be a string, a finite number, a boolean or null (pass a date or a bigint as a string)`,
    )
  }

  return {
    async query(name: unknown, sql: unknown, parameters?: unknown) {
      const database = readText(name, 'name', 64)
      return api.request('query', [database, readText(sql, 'sql', 65_536), readParameters(parameters)])
    },
  }
}
