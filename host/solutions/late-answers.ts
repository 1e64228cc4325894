import type { HostCall } from '../../base/bundles/host-call.ts'
import type { RequestHandler } from '../../runtime/answer-request.ts'
import { ScriptError } from '../../runtime/plugin.ts'
import type { GuestBindings } from './guest-bindings.ts'
import type { NewLogLine } from './solution-log.ts'

/** Handles a call's requests, and logs the responses that come too late for its scripts. */
export interface LateAnswers {
  readonly request: RequestHandler
  /** Forgets earlier requests: the call starts, possibly in another process. */
  readonly began: () => void
  /**
   * The call's function has returned. Its scripts get no more responses.
   * @param unanswered the ids of the requests whose responses they have not got
   */
  readonly returned: (unanswered: readonly number[]) => void
}

/** `error` is null until the request fails. */
type Request = { readonly binding: string; error: { readonly reason: string } | null }

/**
 * A script that doesn't wait for a response usually lacks an `await`. Without these lines, its author would not notice
 * that the rest of a function never ran, or that a query failed.
 */
export function createLateAnswers(
  bindings: GuestBindings,
  call: HostCall,
  write: (line: NewLogLine) => void,
): LateAnswers {
  const requests = new Map<number, Request>()
  const late = new Set<Request>()
  /** Bindings whose error was logged. One line for each is enough, however many requests a script sends. */
  const reported = new Set<string>()

  function reportError({ binding, error }: Request): void {
    if (error === null || reported.has(binding)) return
    reported.add(binding)
    write({ level: 'error', message: `${binding} failed after the call had ended${error.reason}` })
  }

  return {
    request(plugin, method, args, id) {
      const begun = bindings.answer(call, plugin, method, args)
      const request: Request = { binding: bindings.globalOf(plugin), error: null }
      requests.set(id, request)
      begun.value.catch((error) => {
        request.error = { reason: error instanceof ScriptError ? `: ${error.message}` : '' }
        if (late.has(request)) reportError(request)
      })
      return begun
    },
    began: () => requests.clear(),
    returned(unanswered) {
      for (const id of unanswered) {
        const request = requests.get(id)
        if (request !== undefined) late.add(request)
      }
      for (const binding of new Set([...late].map((request) => request.binding))) {
        write({ level: 'warn', message: tooEarly(binding) })
      }
      // The host may have sent the response while the function returned.
      for (const request of late) reportError(request)
    },
  }
}

function tooEarly(binding: string): string {
  return `the call ended before ${binding} responded, so the scripts don’t get the response, and code that waits for it doesn’t run; use "await" in an async function, or return the Promise`
}
