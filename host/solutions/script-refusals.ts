import { hostCall } from '../../base/bundles/host-call.ts'
import type { Call } from '../../runtime/plugin.ts'
import type { Audit } from '../access/audit.ts'
import type { SolutionLog } from './solution-log.ts'

/**
 * Records a rejected request from a script in the solution's log and the audit log, where operators can see the
 * attempt.
 */
export type NoteRefusal = (call: Call, message: string, outcome?: 'refused' | 'throttled') => void

export function createRefusalNote(audit: Pick<Audit, 'noteOnce'>, log: Pick<SolutionLog, 'write'>): NoteRefusal {
  return (call, message, outcome = 'refused') => {
    const { solution, address, correlationId } = hostCall(call)
    const { name } = solution
    log.write(name, { level: 'warn', message, correlationId })
    const actor = `solution:${name}`
    audit.noteOnce({ actor, action: 'script-request', solution: name, outcome, address, correlationId })
  }
}
