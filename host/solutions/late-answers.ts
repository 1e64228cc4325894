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

/** `failure` is the line for the log; null until the request fails. */
type Request = { readonly binding: string; failure: string | null; isLate: boolean }

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
  /** Bindings whose error was logged. One line for each is enough, however many requests a script sends. */
  const reported = new Set<string>()

  function reportIfLate({ binding, failure, isLate }: Request): void {
    if (!isLate || failure === null || reported.has(binding)) return
    reported.add(binding)
    write({ level: 'error', message: failure })
  }

  return {
    request(plugin, method, args, id) {
      const begun = bindings.answer(call, plugin, method, args)
      const binding = bindings.globalOf(plugin)
      const request: Request = { binding, failure: null, isLate: false }
      requests.set(id, request)
      begun.value.catch((error) => {
        const reason = error instanceof ScriptError ? `: ${error.message}` : ''
        request.failure = `${binding} failed after the call had ended${reason}`
        reportIfLate(request)
      })
      return begun
    },
    began: () => requests.clear(),
    returned(unanswered) {
      const late = unanswered.flatMap((id) => requests.get(id) ?? [])
      for (const binding of new Set(late.map((request) => request.binding))) {
        write({ level: 'warn', message: tooEarly(binding) })
      }
      for (const request of late) {
        request.isLate = true
        // The request may have failed while the function returned.
        reportIfLate(request)
      }
    },
  }
}

function tooEarly(binding: string): string {
  return `the call ended before ${binding} responded, so the scripts don’t get the response, and code that waits for it doesn’t run; use "await" in an async function, or return the Promise`
}
