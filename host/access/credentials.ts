import type { Context } from 'koa'
import { RateLimiterMemory, type RateLimiterRes } from 'rate-limiter-flexible'
import { networkOf } from '../../base/http/network.ts'
import { stateOf } from '../../base/http/request.ts'
import { createNews } from '../../base/work/news.ts'
import { PlatformError } from '../../runtime/errors.ts'
import type { Limits } from '../../runtime/limits.ts'
import type { AdminAccount } from './account.ts'
import type { Audit } from './audit.ts'

/** Checks admin credentials. Failed attempts on the API and on the pages, on both ports, are counted together. */
export interface AdminCredentials {
  /**
   * The attempt is counted before the check, so that parallel guesses are counted too. A wrong name takes as long as a
   * wrong password.
   * @throws ERR_THROTTLED
   */
  areRight(ctx: Context, name: string, password: string): Promise<boolean>
  /** @throws ERR_THROTTLED if this network has failed too often */
  countFailure(ctx: Context, actor: string): Promise<void>
  /** Records the attempt in the audit log, but never the submitted name: people type passwords into the wrong field. */
  note(ctx: Context, actor: string, outcome: string): void
}

export type AdminCredentialsParts = {
  readonly account: AdminAccount
  readonly audit: Audit
  readonly limits: Limits
}

/** Window in which failures are counted, in seconds. */
const FAILURE_WINDOW = 15 * 60

export function createAdminCredentials({ account, audit, limits }: AdminCredentialsParts): AdminCredentials {
  const failures = new RateLimiterMemory({ points: limits.ADMIN_FAILURES, duration: FAILURE_WINDOW })
  const isNews = createNews()
  const networkAt = (ctx: Context) => networkOf(stateOf(ctx).client.address)

  function note(ctx: Context, actor: string, outcome: string): void {
    const { client, correlationId } = stateOf(ctx)
    audit.note({ actor, action: 'admin-sign-in', outcome, address: client.address, correlationId })
  }

  async function countFailure(ctx: Context, actor: string): Promise<void> {
    const network = networkAt(ctx)
    try {
      await failures.consume(network)
    } catch (full) {
      // Record this at most once a minute, because a throttled client may keep retrying.
      if (isNews(network)) note(ctx, actor, 'throttled')
      throw throttled((full as RateLimiterRes).msBeforeNext ?? FAILURE_WINDOW * 1000)
    }
  }

  return {
    note,
    countFailure,
    async areRight(ctx, name, password) {
      await countFailure(ctx, 'admin')
      const passwordIsRight = await account.checkPassword(password)
      if (!passwordIsRight || name !== account.name) {
        note(ctx, 'admin', 'refused')
        return false
      }
      await failures.reward(networkAt(ctx), 1)
      note(ctx, 'admin', 'ok')
      return true
    },
  }
}

function throttled(forMs: number): PlatformError {
  const retryAfter = Math.ceil(forMs / 1000)
  return new PlatformError(
    'ERR_THROTTLED',
    `Too many failed admin sign-ins from this network (limit: ADMIN_FAILURES). Try again in ${retryAfter} s.`,
    { retryAfter },
  )
}
