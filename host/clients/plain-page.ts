import type { Context } from 'koa'
import { PlatformError } from '../../runtime/errors.ts'
import type { Failed } from '../../runtime/outcome.ts'
import { allowPage } from '../http/content-security.ts'
import { readQuery } from '../http/read-body.ts'
import { cookieScope, createNonce, sendHtml, stateOf } from '../http/request.ts'
import { retryAfter } from '../http/retry-after.ts'
import { sendToAddress } from '../http/send-to-address.ts'
import { passwordPath } from '../login/change-password.ts'
import type { FormTokens } from '../login/form-token.ts'
import { argumentOf, queryParams } from '../login/query-params.ts'
import { type SignOutParts, signOut } from '../login/sign-out.ts'
import type { FoundSession } from '../login/start-session.ts'
import type { Session } from '../sessions/sessions.ts'
import type { ActiveSolution, Catalog } from '../solutions/catalog.ts'
import { type Effects, noEffects } from '../solutions/host-call.ts'
import type { EntryResult, EntryRunner } from '../solutions/run-entry.ts'
import { clientPage } from '../web/pages.ts'

export type PlainPageParts = SignOutParts & {
  readonly formTokens: FormTokens
  readonly runEntry: EntryRunner
  readonly catalog: Catalog
}

/**
 * The page of an open solution while there is no client: each GET runs main's `onSolutionOpen` in a fresh context, and
 * its commands count for this page (design section 7).
 * @param found null for a solution without sign-in
 */
export async function showPlainPage(
  ctx: Context,
  solution: ActiveSolution,
  found: FoundSession | null,
  locale: string,
  parts: PlainPageParts,
): Promise<void> {
  const { correlationId, client } = stateOf(ctx)
  const origin = parts.sites.originOf(solution.name, client)
  const result = await openSolution(ctx, solution, found?.session ?? null, locale, origin, parts)
  if (result.failure?.code === 'sandbox_busy') throw notNow(result.failure)
  const { effects } = result
  const pageLocale = effects.locale ?? locale
  if (effects.logout !== null && found !== null) {
    const target = effects.showUrl ?? (await otherSolution(effects.logout))
    return sendToAddress(ctx, await signOut(ctx, solution.name, target, parts), origin, pageLocale)
  }
  async function otherSolution({ solution: next, argument }: NonNullable<Effects['logout']>): Promise<string | null> {
    if (next === null || (await parts.catalog.active(next)) === null) return null
    const query = argument === null ? '' : `?${new URLSearchParams({ argument })}`
    return `${parts.sites.originOf(next, client)}/solution/${next}/index.html${query}`
  }

  if (effects.showUrl !== null) return sendToAddress(ctx, effects.showUrl, origin, pageLocale)
  const nonce = createNonce()
  allowPage(ctx, nonce)
  ctx.vary('Accept-Language')
  const html = clientPage(
    { locale: pageLocale, nonce },
    {
      solution: { name: solution.name, title: solution.title },
      user:
        found === null
          ? null
          : { ...found.session, tenant: effects.tenant ?? found.session.tenant, locale: pageLocale },
      ...(result.failure ? { outcome: { reference: correlationId } } : {}),
      logoutAction: `/solution/${solution.name}/logout`,
      changePasswordHref: found?.session.source === 'users' ? passwordPath(solution.name) : null,
      formToken: parts.formTokens.issue(ctx, cookieScope(ctx, parts.sites, solution.name)),
    },
  )
  sendHtml(ctx, 200, html)
}

/** The page says when to come back, and whether the solution is at fault or the machine is busy. */
function notNow(failure: Failed): PlatformError {
  const code = failure.retryAt === undefined ? 'ERR_SANDBOX_BUSY' : 'ERR_SOLUTION_BROKEN'
  return new PlatformError(code, failure.message, { retryAfter: retryAfter(failure) })
}

function openSolution(
  ctx: Context,
  solution: ActiveSolution,
  session: Session | null,
  locale: string,
  serverUrl: string,
  { runEntry }: PlainPageParts,
): Promise<EntryResult> {
  // A main solution without the function simply has nothing to do when it opens.
  if (!solution.entries.main?.includes('onSolutionOpen')) {
    return Promise.resolve({ failure: null, effects: noEffects(), values: {}, hasValues: false })
  }
  const url = readQuery(ctx)
  const { correlationId, client } = stateOf(ctx)
  return runEntry(solution, {
    unit: 'main',
    entry: 'onSolutionOpen',
    args: [argumentOf(url), queryParams(url)],
    secrets: new Map([...url].filter(([name]) => name.startsWith('custom_'))),
    call: { kind: 'open', correlationId, user: session, account: session, address: client.address, locale, serverUrl },
  })
}
