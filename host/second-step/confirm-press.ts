import type { FoundSession } from '../../base/accounts/find-session.ts'
import { allowFramedPage } from '../../base/http/content-security.ts'
import { createNonce, sendFramedHtml } from '../../base/http/request.ts'
import type { Arrival } from '../login/arrival.ts'
import { auditFactor } from '../login/audit-factor.ts'
import { type ConfirmModel, confirmedPage, confirmPage, pressOverPage } from '../web/pages.ts'
import { checkConfirmation, isRecent, wayOf, waysOf } from './confirmation.ts'
import { confirmPressPath } from './paths.ts'
import type { AskedPress, Presses } from './presses.ts'
import type { SecondStepParts } from './second-step-parts.ts'
import { formModel } from './send-pages.ts'

export type ConfirmPressParts = SecondStepParts & { readonly presses: Presses }

/** The page where users confirm their identity, because a script requires it for a button press. */
export async function showConfirmPress(
  arrival: Arrival,
  { session }: FoundSession,
  parts: ConfirmPressParts,
): Promise<void> {
  const { url } = arrival
  const question = url.get('question') ?? ''
  const press = parts.presses.read(session, question)
  if (press === null) return sendOver(arrival)
  await send(arrival, session, { question, press, isRecovery: url.has('recovery'), refusal: null }, 200, parts)
}

/**
 * Checks the confirmation. If the script requires one for every press, the session doesn't change: this confirmation is
 * valid only for this press.
 */
export async function submitConfirmPress(
  arrival: Arrival,
  { session, cookie }: FoundSession,
  fields: ReadonlyMap<string, string>,
  parts: ConfirmPressParts,
): Promise<void> {
  const question = fields.get('question') ?? ''
  const press = parts.presses.read(session, question)
  if (press === null) return sendOver(arrival)
  const { way } = await wayOfPress(session, arrival, parts)
  const checked = way === 'recent' ? null : await checkConfirmation(arrival, session, fields, parts)
  if (checked === null) auditFactor(arrival, session, 'confirm', 'ok', parts)
  if (checked?.kind === 'refused') {
    const { status, text: refusal } = checked
    return send(arrival, session, { question, press, isRecovery: fields.has('recovery'), refusal }, status, parts)
  }
  if (!press.every && checked !== null) await parts.sessions.confirm(session.realm, cookie, checked.methods)
  const proof = parts.presses.prove(session, press)
  sendFramed(arrival, 200, (frame) => confirmedPage(frame, { solution: arrival.solution.manifest, proof }))
}

/**
 * How the user confirms this press. Users who can't confirm on this page must sign in again. That ends the session and
 * discards the waiting press. To avoid this, users who signed in recently only have to agree.
 */
async function wayOfPress(session: FoundSession['session'], arrival: Arrival, parts: ConfirmPressParts) {
  const { way, usable } = await wayOf(session, arrival, parts)
  // The issuer of a login token vouches for the user: an account with the same uid may be someone else's.
  const isElsewhere = way === 'sign-in' || session.methods.includes('token')
  if (!isElsewhere) return { way, usable }
  return { way: isRecent(session, parts) ? ('recent' as const) : ('sign-in' as const), usable }
}

type Shown = Pick<ConfirmModel, 'isRecovery' | 'refusal'> & {
  readonly question: string
  readonly press: AskedPress
}

async function send(
  arrival: Arrival,
  session: FoundSession['session'],
  { press, question, ...shown }: Shown,
  status: number,
  parts: ConfirmPressParts,
): Promise<void> {
  const { username } = session
  const form = formModel(arrival, confirmPressPath(arrival.solution.name), parts)
  const { way, usable } = await wayOfPress(session, arrival, parts)
  const ways = await waysOf(session, arrival, usable, parts)
  const ofPress = { way, ways, field: ['question', question] as const, reason: press.reason, cancelHref: null }
  sendFramed(arrival, status, (frame) => confirmPage(frame, { ...form, ...shown, ...ofPress, username }))
}

function sendOver(arrival: Arrival): void {
  sendFramed(arrival, 410, (frame) => pressOverPage(frame, { solution: arrival.solution.manifest }))
}

function sendFramed(
  { ctx, locale }: Arrival,
  status: number,
  render: (frame: { readonly locale: string; readonly nonce: string }) => string,
): void {
  const nonce = createNonce()
  allowFramedPage(ctx, nonce)
  ctx.vary('Accept-Language')
  sendFramedHtml(ctx, status, render({ locale, nonce }))
}
