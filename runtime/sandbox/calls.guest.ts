import { apply, isArray, parse, promiseThen, SafePromise, SafeTypeError, stringify } from './builtins.guest.ts'
import { readCall } from './call-data.guest.ts'
import type { QuotaError } from './quotas.guest.ts'
import type {
  AnswerText,
  CallText,
  ContextState,
  EndText,
  Enter,
  FindEntry,
  Hooks,
  Limits,
  ScopeText,
  ScriptText,
} from './types.guest.ts'
import { record } from './values.guest.ts'

type CallParts = {
  readonly state: ContextState
  readonly hooks: Hooks
  readonly limits: Limits
  readonly quotaError: QuotaError
  readonly failedText: (error: unknown) => string
  /** Returns what the call has sent so far, as JSON properties. */
  readonly sentText: () => string
  /** Drops the previous call's commands, log lines and exceeded quotas. */
  readonly forgetLastCall: () => void
  readonly answer: (text: AnswerText) => void
  readonly addScope: (text: ScopeText, view: object) => void
}

/** The only function that the sandbox process calls in a context. It runs calls and passes responses on. */
export function createEnter(parts: CallParts): Enter {
  const { state, hooks, limits, quotaError, failedText, sentText, forgetLastCall, answer, addScope } = parts
  /**
   * The number of calls that the context has served. A login's context serves one call; a client's context serves all
   * of the client's calls.
   */
  let calls = 0
  let lastNumber = 0
  /**
   * The functions that find entry functions, by the entry function's name. The entry function that the context was
   * started for is not included.
   */
  const finders: Record<string, FindEntry> = record()

  function returnedText(returned: unknown): string {
    if (state.message.returnsJson === true) return returnedJson(returned)
    const result = state.message.entry === 'getOAuthConfig' ? objectText(returned) : returned
    if (typeof result === 'string') {
      const allowed = limits.RESULT_SIZE as number
      if (result.length > allowed) return failedText(quotaError('RESULT_SIZE', allowed, result.length))
      return `{"ok":true,"result":${stringify(result)},${sentText()}}`
    }
    const odd = result === undefined || result === null ? '' : `,"odd":${stringify(kindOf(result))}`
    return `{"ok":true,"result":null${odd},${sentText()}}`
  }

  /**
   * Returns the outcome of a call as JSON. Ordinary results are wrapped as `{"value":…}`, so scripts can't imitate the
   * values that bindings create.
   */
  function returnedJson(returned: unknown): string {
    if (returned === undefined || returned === null) return `{"ok":true,"result":null,${sentText()}}`
    let text = hooks.readResult === null ? null : hooks.readResult(returned)
    if (text === null) {
      const value = jsonText(returned)
      const name = state.message.resultLimit as string
      const allowed = limits[name] as number
      if (value.length > allowed) return failedText(quotaError(name, allowed, value.length))
      text = `{"value":${value}}`
    }
    return `{"ok":true,"result":${stringify(text)},${sentText()}}`
  }

  function call(read: CallText): string {
    const message = readCall(read)
    state.message = message
    // Log lines written while the scripts load count towards the first call's quota.
    if (++calls > 1) forgetLastCall()
    const own = calls
    state.running = true
    const lastCounted = read.counted === undefined || read.counted === lastNumber
    lastNumber = read.number ?? 0
    const { callStarts } = hooks
    for (let index = 0; index < callStarts.length; index++) {
      ;(callStarts[index] as (lastCounted: boolean) => void)(lastCounted)
    }
    const entry = hooks.entries[message.entry] ?? (finders[message.entry] ?? state.findEntry)()
    if (typeof entry !== 'function') {
      state.running = false
      return failedText(new SafeTypeError(`the scripts have no function ${message.entry}`))
    }
    const result = apply(entry as () => unknown, undefined, message.args)
    if (typeof result !== 'object' || result === null) return conclude(own, result)
    const settled = new SafePromise((resolve) => resolve(result))
    // Ignore the result of `then`. `then` looks up a species constructor, but only on our own Promise, which scripts
    // can't change.
    apply(promiseThen, settled, [
      (value: unknown) => done(own, () => conclude(own, value)),
      (error: unknown) => done(own, () => failedText(error)),
    ])
    return ''
  }

  /**
   * Waits for pending work after the entry function has returned. @returns the outcome as JSON; '' if it isn't known
   * yet
   */
  function conclude(own: number, value: unknown): string {
    const { beforeReturn } = hooks
    const left = beforeReturn === null ? null : beforeReturn()
    if (left === null) return finished(returnedText(value))
    apply(promiseThen, left, [
      () => done(own, () => returnedText(value)),
      (error: unknown) => done(own, () => failedText(error)),
    ])
    return ''
  }

  /** @param own the call's number. The call may have timed out long ago */
  function done(own: number, makeText: () => string): void {
    if (own !== calls || !state.running) return
    let text: string
    try {
      text = makeText()
    } catch (error) {
      text = failedText(error)
    }
    if (text !== '') state.host('done', finished(text))
  }

  function finished(text: string): string {
    state.running = false
    return text
  }

  return function enter(text, finder) {
    try {
      const read = parse(text) as CallText | AnswerText | ScriptText | ScopeText | EndText
      if (read.kind === 'scope') {
        if (finder !== undefined) addScope(read, finder)
        return ''
      }
      if (read.kind === 'end') return finished('')
      if (read.kind === 'script') {
        const { runScript } = hooks
        if (runScript !== null && finder !== undefined) runScript(read.name, finder)
        return ''
      }
      if (finder !== undefined && read.kind === 'call') finders[read.entry] = finder
      if (read.kind === 'call') return call(read)
      answer(read)
      return ''
    } catch (error) {
      return finished(failedText(error))
    }
  }
}

/**
 * Returns an object as JSON, and anything else unchanged. The script's getters and toJSON methods run here, inside the
 * timed call.
 */
function objectText(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || isArray(value)) return value
  return stringify(value) ?? value
}

/** The script's getters and toJSON run here, inside the timed call. */
function jsonText(value: unknown): string {
  const text: unknown = stringify(value)
  if (typeof text === 'string') return text
  throw new SafeTypeError(`the function returned ${kindOf(value)}, which cannot be converted to JSON`)
}

function kindOf(value: unknown): string {
  return isArray(value) ? 'an array' : typeof value === 'object' ? 'an object' : `a ${typeof value}`
}
