import type { Context } from 'koa'
import { PlatformError } from '../../runtime/errors.ts'
import type { Failed } from '../../runtime/outcome.ts'
import { allowPage } from '../http/content-security.ts'
import { readCookie, setCookie } from '../http/cookies.ts'
import { readQuery } from '../http/read-body.ts'
import { cookieScope, createNonce, sendHtml, stateOf } from '../http/request.ts'
import { retryAfter } from '../http/retry-after.ts'
import { sendToAddress } from '../http/send-to-address.ts'
import type { Sites } from '../http/sites.ts'
import { passwordPath } from '../login/change-password.ts'
import type { FormTokens } from '../login/form-token.ts'
import { argumentOf, queryParams } from '../login/query-params.ts'
import type { FoundSession } from '../login/sign-in.ts'
import type { Remembered } from '../sessions/remembered.ts'
import type { Session, Sessions } from '../sessions/sessions.ts'
import type { ActiveSolution, Catalog } from '../solutions/catalog.ts'
import { type Effects, noEffects } from '../solutions/host-call.ts'
import type { EntryResult, EntryRunner } from '../solutions/run-entry.ts'
import { clientPage } from '../web/pages.ts'

export type PlainPageParts = {
  readonly sites: Sites
  readonly formTokens: FormTokens
  readonly sessions: Sessions
  readonly remembered: Remembered
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
    await endSession(ctx, solution.name, found.cookie, parts)
    return sendToAddress(ctx, effects.showUrl ?? (await afterLogout(effects.logout)), origin, pageLocale)
  }
  async function afterLogout({ solution: next, argument }: NonNullable<Effects['logout']>): Promise<string> {
    if (next === null || (await parts.catalog.active(next)) === null) return pageAfterLogout(solution.name)
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
    return Promise.resolve({ failure: null, effects: noEffects(), values: {} })
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

/** A real logout: the session ends, and the browser is no longer remembered (guide 3). */
export async function endSession(
  ctx: Context,
  solution: string,
  cookie: string,
  { sites, sessions, remembered }: Pick<PlainPageParts, 'sites' | 'sessions' | 'remembered'>,
): Promise<void> {
  const scope = cookieScope(ctx, sites, solution)
  await sessions.end(solution, cookie)
  setCookie(ctx, 'session', scope, null)
  const series = readCookie(ctx, 'remember', scope)
  if (series === undefined) return
  await remembered.end(solution, series)
  setCookie(ctx, 'remember', scope, null)
}

/** The page that says that one is signed out; it signs nobody in by itself. */
export function pageAfterLogout(solution: string): string {
  return `/solution/${solution}/index.html?signed-out`
}
