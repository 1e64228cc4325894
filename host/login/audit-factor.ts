import type { Audit, AuditAction } from '../access/audit.ts'
import type { Arrival } from './arrival.ts'

/** Records in the audit log that a factor was used or changed. */
export function auditFactor(
  { solution, address, correlationId }: Arrival,
  { username }: { readonly username: string },
  action: AuditAction,
  outcome: string,
  { audit }: { readonly audit: Audit },
  target?: string,
): void {
  const facts = { actor: `user:${username}`, action, solution: solution.name, outcome, address, correlationId }
  audit.note(target === undefined ? facts : { ...facts, target })
}
