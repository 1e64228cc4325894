import type { Ended } from '../../base/accounts/sign-in-steps.ts'
import { allowPage } from '../../base/http/content-security.ts'
import { createNonce, sendHtml } from '../../base/http/request.ts'
import { sendToAddress } from '../http/send-to-address.ts'
import type { Arrival } from '../login/arrival.ts'
import type { SolutionLog } from '../solutions/solution-log.ts'
import { oauthProblemPage } from '../web/pages.ts'
import type { AnonymousLines } from './anonymous-lines.ts'
import { otherAccountPage } from './authorize.ts'
import type { ConfigurationChooser } from './chosen-configuration.ts'
import type { OAuthConfiguration } from './configuration.ts'
import { shownUser } from './last-login.ts'
import { OAUTH_PROBLEMS, type OAuthProblem } from './problems.ts'
import type { Claims, Provider } from './provider.ts'

export type ShowProblemParts = {
  readonly chooser: Pick<ConfigurationChooser, 'fallbackOf'>
  readonly solutionLog: Pick<SolutionLog, 'write'>
  /** Writes rate-limited log lines, for requests without a valid sign-in, which anyone can send. */
  readonly writeLine: AnonymousLines
}

/** What is known about the failed sign-in. */
export type ProblemContext = {
  readonly configuration: OAuthConfiguration | null
  readonly provider: Provider | null
  readonly claims: Claims | null
  /** Path and query of the requested page. */
  readonly returnTo: string
}

/** The value of the `Retry-After` header, in seconds. */
const RETRY_AFTER = 5

/** Describes how the sign-in ended, for the audit log. */
export function endedBy({ code }: OAuthProblem, claims: Claims | null): Ended {
  return { outcome: code, username: claims === null ? '' : shownUser(claims), isRepeatable: true }
}

/**
 * Responds to a failed sign-in and records it in the audit log. Logs the reason in the solution's log, for the author.
 * The user gets a page with a next step, or is redirected to `login_failed_url` with `error` and `correlation_id`.
 */
export async function showProblem(
  arrival: Arrival,
  problem: OAuthProblem,
  { configuration, provider, claims, returnTo }: ProblemContext,
  { chooser, solutionLog, writeLine }: ShowProblemParts,
): Promise<void> {
  const { ctx, solution, locale, correlationId, address, serverUrl } = arrival
  const { status, page } = OAUTH_PROBLEMS[problem.code]
  // If a script failed, the log already contains the failure, with its position.
  if (problem.code !== 'oauth_script') {
    const level = problem.code === 'oauth_expired' || problem.code === 'oauth_denied' ? 'info' : 'error'
    const line = { level, code: problem.code, message: problem.message, correlationId } as const
    if (problem.code === 'oauth_expired') writeLine(solution.name, address, line)
    else solutionLog.write(solution.name, line)
  }
  const failedUrl = configuration === null ? await chooser.fallbackOf(solution) : configuration.loginFailedUrl
  const target = failedUrl === null ? null : new URL(failedUrl, serverUrl)
  // Don't redirect a browser that did not start the sign-in, so that a forged link can't send users elsewhere. Also,
  // the solution's own page would start the sign-in again, in an endless loop.
  const isLoop = target?.href.startsWith(`${serverUrl}/solution/${solution.name}/index.html`)
  if (target !== null && !isLoop && problem.code !== 'oauth_expired') {
    target.searchParams.set('error', problem.code)
    target.searchParams.set('correlation_id', correlationId)
    return sendToAddress(ctx, target.href, serverUrl, locale)
  }
  if (status === 502 || status === 503) ctx.set('Retry-After', String(RETRY_AFTER))
  const nonce = createNonce()
  allowPage(ctx, nonce)
  ctx.vary('Accept-Language')
  const html = oauthProblemPage(
    { locale, nonce },
    {
      page,
      detail: problem.detail,
      solution: { title: solution.title },
      provider: provider?.title ?? null,
      reference: correlationId,
      user: claims === null ? null : shownUser(claims),
      tryAgainHref: returnTo,
      otherAccountHref: problem.code === 'oauth_unknown_user' ? otherAccountPage(returnTo) : null,
      retryInSeconds: RETRY_AFTER,
    },
  )
  sendHtml(ctx, status, html)
}
