import type { GuestApi } from '../../runtime/sandbox/guest-api.d.ts'

type Options = {
  readonly after: number | null
  readonly at: number | null
  readonly key: string | null
  readonly tenant: readonly (string | number)[] | null
}

export default function jobs(api: GuestApi<readonly string[], boolean>) {
  const { safe } = api
  const { stringify } = JSON
  const SafeDate = Date
  const { now } = Date
  const { getTime } = Date.prototype
  const known = ['after', 'at', 'key', 'tenant']
  const latest = 366 * 86_400_000
  const longestKey = 200
  let names: readonly string[] = []

  api.onLoad((loaded) => {
    names = loaded
  })

  function wrong(what: string): TypeError {
    return new safe.TypeError(`plugins.jobs.enqueue: ${what}`)
  }

  function isOneOf(value: unknown, list: readonly string[]): boolean {
    for (let index = 0; index < list.length; index++) if (list[index] === value) return true
    return false
  }

  function dataText(data: unknown): string | null {
    if (data === undefined || data === null) return null
    const text: unknown = stringify(data)
    if (typeof text !== 'string') throw wrong('data must be a value that JSON can represent')
    const allowed = api.limits.JOB_DATA as number
    if (text.length > allowed) throw api.quotaError('JOB_DATA', allowed, text.length, 'plugins.jobs.enqueue')
    return text
  }

  function readOptions(value: unknown): Options {
    if (value === undefined || value === null) return { after: null, at: null, key: null, tenant: null }
    if (typeof value !== 'object' || safe.isArray(value)) throw wrong('the options must be an object')
    const given = safe.keys(value)
    for (let index = 0; index < given.length; index++) {
      const name = given[index] as string
      if (!isOneOf(name, known)) {
        throw wrong(`there is no option ${safe.describe(name)}; the options are after, at, key and tenant`)
      }
    }
    // Reads each property once, so that a getter cannot return a different value after the check.
    const { after, at, key, tenant } = value as Record<string, unknown>
    const read = { after: readAfter(after), at: readAt(at), key: readKey(key), tenant: readTenant(tenant) }
    if (read.after !== null && read.at !== null) throw wrong('set either after or at, not both')
    return read
  }

  function readAfter(value: unknown): number | null {
    if (value === undefined || value === null) return null
    if (typeof value === 'number' && value >= 0 && value <= latest) return value
    throw wrong('after must be a delay in milliseconds of at most 366 days')
  }

  function readAt(value: unknown): number | null {
    if (value === undefined || value === null) return null
    const time = value instanceof SafeDate ? safe.apply(getTime, value, []) : value
    if (typeof time === 'number' && time >= 0 && time <= now() + latest) return time
    throw wrong('at must be a Date or a time in milliseconds, at most 366 days from now')
  }

  function readKey(value: unknown): string | null {
    if (value === undefined || value === null) return null
    if (typeof value === 'string' && value !== '' && value.length <= longestKey && safe.isWellFormed(value))
      return value
    throw wrong('key must be a string of 1 to 200 characters')
  }

  function readTenant(value: unknown): readonly (string | number)[] | null {
    if (value === undefined || value === null) return null
    if (api.state() !== true) throw wrong('the option "tenant" can be set only in a job')
    if (!safe.isArray(value)) throw wrong('"tenant" must be a list of strings and numbers')
    const count = api.lengthOf(value)
    if (count === 0 || count > 100) throw wrong('"tenant" must have 1 to 100 values')
    const read = api.list<string | number>()
    for (let index = 0; index < count; index++) {
      const one = value[index]
      const isText = typeof one === 'string' && one.length <= 200 && safe.isWellFormed(one)
      if (!isText && !(typeof one === 'number' && safe.isFinite(one))) {
        throw wrong('each value of "tenant" must be a number or a string of at most 200 characters')
      }
      read[index] = one as string | number
    }
    return read
  }

  return {
    enqueue(name: unknown, data?: unknown, options?: unknown): string {
      if (typeof name !== 'string' || !isOneOf(name, names)) {
        throw wrong(`the solution has no job ${safe.describe(name)}`)
      }
      const text = dataText(data)
      const { after, at, key, tenant } = readOptions(options)
      const id = api.uuid()
      const run = api.record<unknown>()
      run.id = id
      run.job = name
      run.data = text
      run.after = after
      run.at = at
      run.key = key
      run.tenant = tenant
      api.command('enqueue', [run])
      return id
    },
  }
}
