import type { Context } from 'koa'
import { PlatformError } from '../../runtime/errors.ts'
import type { Audit, AuditAction } from '../audit/audit.ts'
import { auditOf } from './actor.ts'

/**
 * Does what an operator asks for and writes it down; what was refused as well.
 * @param solution a function where the name comes out only while it is done
 */
export async function audited<T>(
  ctx: Context,
  audit: Audit,
  action: AuditAction,
  solution: string | undefined | (() => string | undefined),
  work: () => Promise<T>,
): Promise<T> {
  const named = () => (typeof solution === 'function' ? solution() : solution)
  try {
    const done = await work()
    await audit.record(auditOf(ctx, action, 'ok', named()))
    return done
  } catch (error) {
    if (error instanceof PlatformError) await audit.record(auditOf(ctx, action, error.code, named()))
    throw error
  }
}
