import type { HostCall } from '../../base/bundles/host-call.ts'
import type { RequestHandler } from '../../runtime/answer-request.ts'
import { ScriptError } from '../../runtime/plugin.ts'
import type { GuestBindings } from './guest-bindings.ts'
import type { NewLogLine } from './solution-log.ts'

/** Handles a call's requests, and logs the responses that arrive too late for its scripts. */
export interface LateAnswers {
  readonly request: RequestHandler
  /** Forgets earlier requests: the call starts, possibly in another process. */
  readonly began: () => void
  /** The call's function has returned. Its scripts get no more responses. */
  readonly returned: () => void
}

/**
 * A script that doesn't wait for a response usually lacks an `await`. Without these lines, its author would not notice
 * that the rest of a function never ran, or that a query failed.
 */
export function createLateAnswers(
  bindings: GuestBindings,
  call: HostCall,
  write: (line: NewLogLine) => void,
): LateAnswers {
  const waiting = new Map<object, string>()
  /** Bindings whose error was logged. One line for each is enough, however many requests a script sends. */
  const reported = new Set<string>()
  let hasReturned = false

  function failed(binding: string, error: unknown): void {
    if (reported.has(binding)) return
    reported.add(binding)
    const reason = error instanceof ScriptError ? `: ${error.message}` : ''
    write({ level: 'error', message: `${binding} failed after the call had ended${reason}` })
  }

  return {
    request(plugin, method, args) {
      const begun = bindings.answer(call, plugin, method, args)
      const binding = bindings.globalOf(plugin)
      waiting.set(begun, binding)
      begun.value.then(
        () => waiting.delete(begun),
        (error) => {
          if (waiting.delete(begun) && hasReturned) failed(binding, error)
        },
      )
      return begun
    },
    began: () => waiting.clear(),
    returned() {
      hasReturned = true
      for (const binding of new Set(waiting.values())) write({ level: 'warn', message: tooEarly(binding) })
    },
  }
}

function tooEarly(binding: string): string {
  return `the call ended before ${binding} responded, so the scripts don’t get the response, and code that waits for it doesn’t run; use "await" in an async function, or return the Promise`
}
