import type { ActiveSolution } from '../../base/bundles/active-solution.ts'
import type { Endpoint } from '../../base/bundles/endpoint-table.ts'
import type { HostCall } from '../../base/bundles/host-call.ts'
import { AnswerTooLarge, type EndpointAnswer, readEndpointAnswer } from '../../plugins/http/answer.ts'
import type { Limits } from '../../runtime/limits.ts'
import type { Failed } from '../../runtime/outcome.ts'
import type { Json } from '../../runtime/plugin.ts'
import type { Supervisor } from '../../runtime/supervisor.ts'
import { failureLine } from '../solutions/guest-bindings.ts'
import type { EntryRunner } from '../solutions/run-entry.ts'
import type { SolutionLog } from '../solutions/solution-log.ts'

/** Calls an endpoint's function with a request. */
export type RunEndpoint = (
  solution: ActiveSolution,
  endpoint: Endpoint,
  request: Json,
  caller: Omit<HostCall, 'kind' | 'effects' | 'solution'>,
) => Promise<EndpointAnswer | Failed>

export type RunEndpointParts = {
  readonly limits: Pick<Limits, 'ANSWER_SIZE'>
  readonly runEntry: EntryRunner
  readonly supervisor: Pick<Supervisor, 'retire'>
  readonly solutionLog: Pick<SolutionLog, 'write'>
}

export function createRunEndpoint({ limits, runEntry, supervisor, solutionLog }: RunEndpointParts): RunEndpoint {
  function failureOf(error: unknown): Failed {
    if (error instanceof AnswerTooLarge) {
      const limit = { name: 'ANSWER_SIZE', allowed: limits.ANSWER_SIZE, used: error.used }
      return { code: 'script_quota', message: error.message, limit, milliseconds: 0 }
    }
    if (error instanceof TypeError) return { code: 'script_error', message: error.message, milliseconds: 0 }
    throw error
  }

  return async (solution, { address, declaration }, request, caller) => {
    const { failure, result = null } = await runEntry(solution, {
      entry: declaration.function,
      label: address,
      args: [request],
      secrets: new Map(),
      call: { kind: 'request', ...caller },
    })
    if (failure !== null) return failure
    try {
      return readEndpointAnswer(result, limits.ANSWER_SIZE)
    } catch (error) {
      const failed = failureOf(error)
      // The guest's own code rejects such responses, so a script may have bypassed it. Don't reuse the process.
      if (failed.code === 'script_error') supervisor.retire(solution.loadable.key)
      solutionLog.write(solution.name, { ...failureLine(failed), correlationId: caller.correlationId })
      return failed
    }
  }
}
