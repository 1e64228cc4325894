import type { Context } from 'koa'
import { PlatformError } from '../../runtime/errors.ts'
import type { Audit, AuditAction } from '../audit/audit.ts'
import { auditOf, type Named } from './actor.ts'

/** Runs an operator's action and records it, even if it is refused. */
export async function audited<T>(
  ctx: Context,
  audit: Audit,
  action: AuditAction,
  named: Named,
  work: (named: Named) => Promise<T>,
  isLeftOut: () => boolean = () => false,
): Promise<T> {
  try {
    const done = await work(named)
    if (!isLeftOut()) await audit.record(auditOf(ctx, action, 'ok', named))
    return done
  } catch (error) {
    if (error instanceof PlatformError && !isLeftOut()) await audit.record(auditOf(ctx, action, error.code, named))
    throw error
  }
}
