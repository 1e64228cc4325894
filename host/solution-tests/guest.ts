import type { GuestApi } from '../../runtime/sandbox/guest-api.d.ts'

type Test = { readonly name: string; readonly run: () => unknown }
type Facts = { readonly name: string; readonly version: string }
type Answer = { readonly state: Record<string, unknown>; readonly done: unknown }

/** The globals of test files: `test`, `assert` and `solution`. They act on objects in the host. */
export default function solution(api: GuestApi<Facts>) {
  const { safe } = api
  const SafePromise = Promise
  const SafeRegExp = RegExp
  const { parse, stringify } = JSON
  const tests: Test[] = []
  let isLoading = true
  /** Unanswered requests of the running test; each Error was created where the request was made. */
  let pending: Error[] = []

  function defineTest(name: unknown, run: unknown): void {
    if (!isLoading) throw new safe.Error('test(name, run) belongs at the top level of the file, not inside a test')
    if (typeof name !== 'string' || name === '') throw new safe.TypeError('a test needs a name: test(name, run)')
    if (typeof run !== 'function') throw new safe.TypeError(`the test "${name}" needs a function: test(name, run)`)
    if (tests.some((one) => one.name === name)) throw new safe.Error(`there are two tests "${name}" in this file`)
    tests.push({ name, run: run as () => unknown })
  }

  // --- assert -----------------------------------------------------------------------------------------------------------

  function fail(text: string, message: unknown): never {
    const error = new safe.Error(typeof message === 'string' ? `${message}: ${text}` : text)
    error.name = 'AssertionError'
    throw error
  }

  function both(what: string, expected: unknown, received: unknown): string {
    return `${what}\n  expected: ${show(expected)}\n  received: ${show(received)}`
  }

  function show(value: unknown): string {
    const text = describe(value, 2)
    return text.length > 600 ? `${text.slice(0, 600)}…` : text
  }

  /** Formats a value like script source, on one line if it is short. */
  function describe(value: unknown, indent: number): string {
    if (typeof value === 'string') return stringify(value)
    if (typeof value === 'bigint') return `${value}n`
    if (typeof value === 'function') return `[function ${value.name}]`
    if (typeof value !== 'object' || value === null || value instanceof SafeRegExp) return String(value)
    if (value instanceof Error) return `${value.name}: ${value.message}`
    if (value instanceof Date) return `Date ${value.getTime()}`
    if (indent > 12) return '…'
    const entries = partsOf(value)
    const isList = Array.isArray(value)
    const shown = entries.map(([name, part]) => `${isList ? '' : `${name}: `}${describe(part, indent + 2)}`)
    const [open, close] = isList ? ['[', ']'] : ['{', '}']
    const line = `${open}${shown.join(', ')}${close}`
    if (line.length < 90) return line
    const space = ' '.repeat(indent + 2)
    return `${open}\n${shown.map((one) => `${space}${one}`).join(',\n')}\n${' '.repeat(indent)}${close}`
  }

  function partsOf(value: object): (readonly [string, unknown])[] {
    if (value instanceof Map) return [...value].map(([key, part]) => [`<${describe(key, 12)}>`, part])
    if (value instanceof Set) return [...value].map((part, index) => [`<${index}>`, part])
    return Object.entries(value).filter(([, part]) => part !== undefined)
  }

  /** The path where two values differ, such as `.rows[2].name`, or null. An undefined property counts as absent. */
  function difference(one: unknown, other: unknown, path: string, depth: number): string | null {
    if (Object.is(one, other)) return null
    if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null || depth === 0)
      return path
    if (Array.isArray(one) !== Array.isArray(other)) return path
    const isSpecial = (value: object) => value instanceof Date || value instanceof SafeRegExp || value instanceof Error
    if (isSpecial(one) || isSpecial(other)) return describe(one, 0) === describe(other, 0) ? null : path
    const [mine, theirs] = [new Map(partsOf(one)), new Map(partsOf(other))]
    for (const name of new Set([...mine.keys(), ...theirs.keys()])) {
      const place = Array.isArray(one) ? `${path}[${name}]` : `${path}.${name}`
      if (mine.has(name) !== theirs.has(name)) return place
      const found = difference(mine.get(name), theirs.get(name), place, depth - 1)
      if (found !== null) return found
    }
    return null
  }

  function fits(text: unknown, pattern: unknown): boolean {
    if (typeof text !== 'string') return false
    return pattern instanceof SafeRegExp ? pattern.test(text) : text.includes(String(pattern))
  }

  /** Returns the thrown value if it matches the pattern. */
  function expectedError(thrown: unknown, pattern: unknown): unknown {
    if (pattern === undefined) return thrown
    const text = thrown instanceof Error ? thrown.message : String(thrown)
    return fits(text, pattern) ? thrown : fail(both('another error', pattern, text), undefined)
  }

  const assert = Object.assign(
    (value: unknown, message?: string): void => {
      if (!value) fail(both('not true', true, value), message)
    },
    {
      equal(received: unknown, expected: unknown, message?: string): void {
        const where = difference(received, expected, '', 32)
        if (where !== null) fail(both(`not equal${where === '' ? '' : ` at ${where}`}`, expected, received), message)
      },
      notEqual(received: unknown, other: unknown, message?: string): void {
        if (difference(received, other, '', 32) === null) fail(`equal, and should not be: ${show(received)}`, message)
      },
      match(received: unknown, pattern: unknown, message?: string): void {
        if (!fits(received, pattern)) fail(both('no match', pattern, received), message)
      },
      throws(run: () => unknown, pattern?: unknown): unknown {
        let thrown: { readonly error: unknown } | null = null
        try {
          run()
        } catch (error) {
          thrown = { error }
        }
        return thrown === null ? fail('nothing was thrown', undefined) : expectedError(thrown.error, pattern)
      },
      async rejects(promise: Promise<unknown>, pattern?: unknown): Promise<unknown> {
        // Created now: after the await, nothing of the test is on the stack.
        const at = new safe.Error()
        let thrown: { readonly error: unknown } | null = null
        try {
          await promise
        } catch (error) {
          thrown = { error }
        }
        try {
          return thrown === null ? fail('the Promise did not fail', undefined) : expectedError(thrown.error, pattern)
        } catch (error) {
          throw moved(error, at)
        }
      },
    },
  )

  /** The error with the stack of `at`. */
  function moved(error: unknown, at: Error): Error {
    const { name, message } = error as Error
    at.name = name
    at.message = message
    return at
  }

  // --- actions on the solution --------------------------------------------------------------------------------------------

  /** @param what named in the error for a test that does not await it */
  async function ask<T>(method: string, args: readonly unknown[], what: string): Promise<T> {
    const at = new safe.Error()
    at.message = `the test ended before ${what} did: write "await ${what}(…)"`
    pending.push(at)
    try {
      return (await api.request(method, args)) as T
    } catch (error) {
      throw moved(error, at)
    } finally {
      pending = pending.filter((one) => one !== at)
    }
  }

  function clientOf(id: number, first: Record<string, unknown>) {
    const client: Record<string, unknown> = {}
    async function act(what: string, method: string, args: readonly unknown[]): Promise<unknown> {
      const { state, done } = await ask<Answer>(method, [id, ...args], what)
      Object.assign(client, state)
      return done
    }
    const event = (what: string, type: string, element: unknown, value: unknown) =>
      act(what, 'event', [type, element, value ?? null])
    return Object.assign(client, first, {
      click: (element: unknown, row?: unknown) => event('client.click', 'onAction', element, row),
      type: (element: unknown, value: unknown) => event('client.type', 'onElementDataChange', element, value),
      select: (element: unknown, rows: unknown, selected: unknown = true) =>
        event('client.select', 'onRecordSelection', element, { rows: Array.isArray(rows) ? rows : [rows], selected }),
      fire: (type: string, element: unknown, value?: unknown) => event('client.fire', type, element, value),
      call: (name: unknown, ...args: unknown[]) => act('client.call', 'call', [name, args]),
      wait: (milliseconds: unknown) => act('client.wait', 'wait', [milliseconds]),
      close: () => act('client.close', 'close', []),
    })
  }

  const actions = {
    signIn: (params: unknown = {}) => ask('signIn', [params], 'solution.signIn'),
    getOAuthConfig: (params: unknown = {}) => ask('getOAuthConfig', [params], 'solution.getOAuthConfig'),
    async open(options: unknown = {}) {
      const { id, state } = await ask<{ id: number } & Answer>('open', [options], 'solution.open')
      return clientOf(id, state)
    },
    addUser: (user: unknown) => ask('addUser', [user], 'solution.addUser'),
    answerHttp: (url: unknown, answer: unknown) => ask('answerHttp', [url, answer], 'solution.answerHttp'),
    httpRequests: () => ask('httpRequests', [], 'solution.httpRequests'),
  }

  // --- entry functions ----------------------------------------------------------------------------------------------------

  api.entry('names', () => {
    isLoading = false
    return stringify(tests.map(({ name }) => name))
  })
  api.entry('run', async (index: number) => {
    isLoading = false
    pending = []
    await (tests[index] as Test).run()
    // Let already settled promises, such as that of the last line, resolve first.
    await new SafePromise((resolve) => resolve(null))
    const [left] = pending
    if (left !== undefined) throw left
  })
  api.onLoad((facts) => {
    const { name, version } = parse(stringify(facts)) as Facts
    api.defineGlobal('solution', { name, version, ...actions })
  })
  api.defineGlobal('test', defineTest)
  api.defineGlobal('assert', assert)
}
