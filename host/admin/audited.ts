import type { Context } from 'koa'
import { PlatformError } from '../../runtime/errors.ts'
import type { Audit, AuditAction } from '../audit/audit.ts'
import { auditOf } from './actor.ts'

/** Does what an operator asks for and writes it down; what was refused as well. */
export async function audited<T>(
  ctx: Context,
  audit: Audit,
  action: AuditAction,
  solution: string | undefined,
  work: () => Promise<T>,
): Promise<T> {
  try {
    const done = await work()
    await audit.record(auditOf(ctx, action, 'ok', solution))
    return done
  } catch (error) {
    if (error instanceof PlatformError) await audit.record(auditOf(ctx, action, error.code, solution))
    throw error
  }
}
