import { accountId } from '../../base/accounts/factor-account.ts'
import { CODE_TIME, checkMailedCode, isCodeValid, newMailedCode } from '../../base/accounts/mailed-code.ts'
import { hasSecondStep } from '../../base/accounts/sign-in-methods.ts'
import { Refusal } from '../../base/accounts/sign-in-steps.ts'
import { MailAddress } from '../../base/config/mail-address.ts'
import { goTo } from '../../base/http/go-to.ts'
import { platformText } from '../../base/web/texts.ts'
import { PlatformError } from '../../runtime/errors.ts'
import { BY_ANYBODY } from '../links/host-mail.ts'
import { tokenIn } from '../links/links.ts'
import type { Arrival } from '../login/arrival.ts'
import { auditFactor } from '../login/audit-factor.ts'
import { sendPage } from '../login/send-page.ts'
import { setUpProofPage } from '../web/pages.ts'
import type { StepAttempt } from './complete.ts'
import { nextStepOf } from './gate.ts'
import type { FoundSignIn, OpenSignIn } from './open-sign-ins.ts'
import { stepPath } from './paths.ts'
import type { SecondStepParts } from './second-step-parts.ts'
import { formModel, sendStepOver } from './send-pages.ts'

/**
 * The proof that users without a second factor must give before they set one up during a sign-in. Without it, someone
 * with a stolen password could enrol their own factor. `code`: a code that is mailed to the verified address. `link`: a
 * link from an operator.
 */
type Needed =
  | { readonly kind: 'link' }
  | { readonly kind: 'code'; readonly address: string; readonly locale: string | null }

/** @returns null if the user can set up a factor now */
export async function proofNeeded(
  { solution }: Pick<Arrival, 'solution'>,
  { account, methods, isProved }: OpenSignIn,
  { policies, users, mail }: SecondStepParts,
): Promise<Needed | null> {
  // A user who replaces a lost factor has already entered a recovery code.
  if (isProved === true || account.source !== 'users' || hasSecondStep(methods)) return null
  const policy = await policies.policyFor(solution)
  if (policy.setUpByLink === true) return { kind: 'link' }
  const user = await users.get(account.uid)
  const address = MailAddress.safeParse(user?.email).data
  if (!mail.isSetUp || address === undefined || user?.emailVerifiedAt == null) return null
  return { kind: 'code', address, locale: user.locale }
}

/** Shows the page that asks for the proof. Mails a code, unless the last one is still valid. */
export async function showProof(
  arrival: Arrival,
  found: FoundSignIn,
  needed: Needed,
  canPostpone: boolean,
  parts: SecondStepParts,
): Promise<void> {
  if (needed.kind === 'link' || isCodeValid(found.open.code, parts.now()))
    return send(arrival, needed, canPostpone, null, 200, parts)
  const refusal = await mailCode(arrival, found, needed, parts)
  send(arrival, needed, canPostpone, refusal, refusal === null ? 200 : 429, parts)
}

/** @returns null if no proof is needed; otherwise the response to the form */
export async function checkProof(attempt: StepAttempt, parts: SecondStepParts): Promise<Refusal | null> {
  const { ctx, solution, fields, found } = attempt
  const needed = await proofNeeded(attempt, found.open, parts)
  if (needed === null) return null
  const toSetUp = new Refusal(null, () => goTo(ctx, stepPath(solution.name, 'set-up')))
  const act = fields.get('act')
  if (act === 'new-code' && needed.kind === 'code') {
    // Without a stored code, the set-up page mails a new one.
    await parts.openSignIns.change(found, { ...found.open, code: null })
    return toSetUp
  }
  if (act !== 'prove') return toSetUp
  const isProved =
    needed.kind === 'link'
      ? await useLink(attempt, parts)
      : await checkMailedCode(found, fields.get('code') ?? '', parts)
  auditFactor(attempt, found.open.login, 'confirm', isProved === true ? 'ok' : 'refused', parts)
  if (isProved === 'over') return new Refusal(null, () => sendStepOver(attempt))
  if (!isProved) {
    const refusal = platformText(attempt.locale, `platform.proof.${needed.kind}.wrong`)
    const next = await nextStepOf(attempt, found.open, parts)
    const canPostpone = next.step === 'set-up' && next.canPostpone
    return new Refusal(null, () => send(attempt, needed, canPostpone, refusal, 401, parts))
  }
  await parts.openSignIns.change(found, { ...found.open, isProved: true, code: null })
  return toSetUp
}

async function useLink({ solution, fields, found }: StepAttempt, { links }: SecondStepParts): Promise<boolean> {
  const link = await links.find(solution.name, 'set-up', tokenIn(fields))
  return link !== null && link.user.uid === found.open.account.uid && (await links.take(link))
}

/** @returns why no code could be mailed, in the user's language */
async function mailCode(
  { solution, locale }: Arrival,
  found: FoundSignIn,
  { address, locale: own }: Extract<Needed, { readonly kind: 'code' }>,
  { openSignIns, factorThrottle, mail, now }: SecondStepParts,
): Promise<string | null> {
  const unsent = platformText(locale, 'platform.proof.code.unsent')
  // Limits how many emails someone with the password can trigger.
  if ((await factorThrottle.count(`mail ${accountId(found.open.account)}`)) !== null) return unsent
  const code = newMailedCode(now())
  const values = [found.open.login.username, solution.manifest.title, code.text, CODE_TIME / 60_000]
  const letter = (part: string) => platformText(own ?? locale, `platform.letter.code.${part}`, values)
  try {
    await mail.send({ to: address, subject: letter('subject'), text: letter('text') }, BY_ANYBODY)
  } catch (error) {
    if (error instanceof PlatformError) return unsent
    throw error
  }
  await openSignIns.change(found, { ...found.open, code })
  return null
}

function send(
  arrival: Arrival,
  { kind }: Needed,
  canPostpone: boolean,
  refusal: string | null,
  status: number,
  parts: SecondStepParts,
): void {
  const { name } = arrival.solution
  const form = formModel(arrival, stepPath(name, 'set-up'), parts)
  const minutes = String(Math.ceil(parts.limits.SECOND_STEP_TIME / 60_000))
  const model = { ...form, kind, minutes, canPostpone, refusal, cancelHref: `/solution/${name}/index.html` }
  sendPage(arrival, status, (frame) => setUpProofPage(frame, model))
}
