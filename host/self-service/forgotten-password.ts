import { platformText } from '../../base/web/texts.ts'
import { PlatformError } from '../../runtime/errors.ts'
import type { Arrival } from '../login/arrival.ts'
import { readPlatformForm } from '../login/own-page.ts'
import { sendPage } from '../login/send-page.ts'
import { formModel } from '../second-step/send-pages.ts'
import { type ForgottenPasswordModel, forgottenPasswordPage } from '../web/pages.ts'
import type { SelfServiceParts } from './self-service-parts.ts'

/** Maximum characters of the input. No name or address is longer. */
const LONGEST_ASKED = 254

/** The page where users who forgot their password request a link. */
export function showForgotten(arrival: Arrival, parts: SelfServiceParts): void {
  requireMail(parts)
  send(arrival, { isAsked: false, asked: '', refusal: null }, 200, parts)
}

export async function submitForgotten(arrival: Arrival, parts: SelfServiceParts): Promise<void> {
  requireMail(parts)
  const { ctx, solution, scope, locale, address, correlationId } = arrival
  const fields = await readPlatformForm(arrival, parts)
  const asked = (fields.get('username') ?? '').trim()
  if (asked === '') {
    const refusal = platformText(locale, 'platform.form.missing')
    return send(arrival, { isAsked: false, asked, refusal }, 422, parts)
  }
  // Count each request before looking up the account: attackers could use requests to flood a mailbox.
  const isKnown = parts.knownBrowsers.isKnown(ctx, scope, 'users', asked)
  const wait = await parts.throttle.count({ source: 'forgotten', username: asked, address }, isKnown)
  if (wait !== null) {
    const entry = { actor: `user:${asked.slice(0, LONGEST_ASKED)}`, action: 'password-forgotten' } as const
    parts.audit.noteOnce({ ...entry, solution: solution.name, outcome: 'throttled', address, correlationId })
    ctx.set('Retry-After', String(wait))
    const refusal = platformText(locale, 'platform.forgotten.throttled', [Math.ceil(wait / 60)])
    return send(arrival, { isAsked: false, asked, refusal }, 429, parts)
  }
  if (asked.length <= LONGEST_ASKED) {
    const of = { name: solution.name, title: solution.manifest.title }
    parts.forgottenPasswords.take({ asked, solution: of, locale, address, correlationId })
  }
  send(arrival, { isAsked: true, asked, refusal: null }, 200, parts)
}

/** @throws ERR_NOT_FOUND if this host does not send emails */
function requireMail({ mail }: SelfServiceParts): void {
  if (mail.isSetUp) return
  throw new PlatformError('ERR_NOT_FOUND', 'This host does not send emails. Ask its operator for a new password.')
}

function send(
  arrival: Arrival,
  shown: Pick<ForgottenPasswordModel, 'isAsked' | 'asked' | 'refusal'>,
  status: number,
  parts: SelfServiceParts,
): void {
  const { name } = arrival.solution
  const form = formModel(arrival, `/solution/${name}/forgotten-password`, parts)
  const model = { ...form, ...shown, signInHref: `/solution/${name}/index.html` }
  sendPage(arrival, status, (frame) => forgottenPasswordPage(frame, model))
}
