import type { HttpPorts, HttpRefusal } from '../../plugins/http/host.ts'
import type { Audit } from '../audit/audit.ts'
import type { GrantStore } from '../grants/grants.ts'
import { hostCall } from '../solutions/host-call.ts'
import type { SolutionLog } from '../solutions/solution-log.ts'
import type { Outbound } from './outbound.ts'

export type HttpForScriptsParts = {
  /** With the hosts of `HTTP_ALLOWED_HOSTS`. */
  readonly outbound: Outbound
  readonly grants: Pick<GrantStore, 'get'>
  readonly audit: Pick<Audit, 'noteOnce'>
  readonly log: Pick<SolutionLog, 'write'>
}

const REASONS: Readonly<Record<HttpRefusal, string>> = {
  'not-asked': 'the manifest does not ask for the host',
  'not-granted': 'the operator has not granted the host to this solution',
  private: 'the host is in a private network or on this machine and not listed in HTTP_ALLOWED_HOSTS',
}

/** What scripts may ask of other hosts (design 5.2): only those that the operator granted to their solution. */
export function createHttpForScripts({ outbound, grants, audit, log }: HttpForScriptsParts): HttpPorts {
  return {
    granted: async (call) => (await grants.get(call.solution.name)).http,
    send: (request) => outbound.request(request),
    onRefused(call, host, why) {
      const { solution, address, correlationId } = hostCall(call)
      const message = `plugins.http.fetch to ${host} was refused: ${REASONS[why]}`
      log.write(solution.name, { level: 'warn', message, correlationId })
      const actor = `solution:${solution.name}`
      audit.noteOnce({
        actor,
        action: 'script-request',
        solution: solution.name,
        outcome: 'refused',
        address,
        correlationId,
      })
    },
  }
}
