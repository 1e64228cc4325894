import type { Context } from 'koa'
import { accountId } from '../../base/accounts/factor-account.ts'
import { CODE_TIME, checkMailedCode, isCodeValid, newMailedCode } from '../../base/accounts/mailed-code.ts'
import type { FoundSignIn } from '../../base/accounts/open-sign-ins.ts'
import { hasSecondStep } from '../../base/accounts/sign-in-methods.ts'
import { Refusal } from '../../base/accounts/sign-in-steps.ts'
import type { User } from '../../base/accounts/users.ts'
import { MailAddress } from '../../base/config/mail-address.ts'
import { goTo } from '../../base/http/go-to.ts'
import { PlatformError } from '../../runtime/errors.ts'
import { TITLE } from '../accounts/passkey-page.ts'
import { sendPage, textFor } from '../pages/page.ts'
import { formModel, type StepAttempt, showOver } from './complete.ts'
import { type MemberSignIn, SET_UP_PATH } from './gate.ts'
import type { SecondStepParts } from './parts.ts'

/**
 * Whether the user must enter a mailed code before they set up a factor. Without the code, someone with a stolen
 * password could set up their own factor. Chosen here: the address needs no separate confirmation. It is the account's
 * name, and password reset links are also mailed to it.
 */
export function needsProof(
  { open }: FoundSignIn<MemberSignIn>,
  user: User,
  { mail }: Pick<SecondStepParts, 'mail'>,
): boolean {
  return !open.isProved && !hasSecondStep(open.methods) && mail.isSetUp && addressOf(user) !== null
}

/** Shows the page for the code. Mails a code, unless the last one is still valid. */
export async function showProof(
  ctx: Context,
  found: FoundSignIn<MemberSignIn>,
  user: User,
  parts: SecondStepParts,
): Promise<void> {
  if (isCodeValid(found.open.code, parts.now())) return send(ctx, null, 200)
  const isMailed = await mailCode(ctx, found, user, parts)
  if (isMailed) send(ctx, null, 200)
  else send(ctx, textFor(ctx)('platform.proof.code.unsent'), 429)
}

/** @returns the response to the form */
export async function checkProof(
  { ctx, fields, found }: StepAttempt,
  { username }: User,
  parts: SecondStepParts,
): Promise<Refusal> {
  const { openSignIns, credentials } = parts
  const toSetUp = new Refusal(null, () => goTo(ctx, SET_UP_PATH))
  const act = fields.get('act')
  if (act === 'new-code') {
    // Without a stored code, the set-up page mails a new one.
    await openSignIns.change(found, { ...found.open, code: null })
    return toSetUp
  }
  if (act !== 'prove') return toSetUp
  const isProved = await checkMailedCode(found, fields.get('code') ?? '', parts)
  await credentials.note(ctx, username, 'confirm', isProved === true ? 'ok' : 'refused')
  if (isProved === 'over') return new Refusal(null, () => showOver(ctx))
  if (!isProved) return new Refusal(null, () => send(ctx, textFor(ctx)('platform.proof.code.wrong'), 401))
  await openSignIns.change(found, { ...found.open, isProved: true, code: null })
  return toSetUp
}

function addressOf({ email }: User): string | null {
  return MailAddress.safeParse(email).data ?? null
}

/** @returns whether a code could be mailed */
async function mailCode(
  ctx: Context,
  found: FoundSignIn<MemberSignIn>,
  user: User,
  { openSignIns, factorThrottle, mail, now }: SecondStepParts,
): Promise<boolean> {
  // Limits how many emails someone who knows the password can trigger.
  const isTooMany = (await factorThrottle.count(`mail ${accountId(found.open.account)}`)) !== null
  const to = addressOf(user)
  if (isTooMany || to === null) return false
  const code = newMailedCode(now())
  const text = textFor(ctx)
  const values = [user.username, TITLE, code.text, CODE_TIME / 60_000]
  try {
    const subject = text('platform.letter.code.subject', ...values)
    await mail.send({ to, subject, text: text('platform.letter.code.text', ...values) })
  } catch (error) {
    if (error instanceof PlatformError) return false
    throw error
  }
  await openSignIns.change(found, { ...found.open, code })
  return true
}

function send(ctx: Context, refusal: string | null, status: number): void {
  const shown = { kind: 'code', canPostpone: false, refusal, cancelHref: '/sign-in' }
  const model = { ...formModel(SET_UP_PATH, ''), ...shown }
  sendPage(ctx, { template: 'set-up-proof', heading: textFor(ctx)('platform.setup.title'), model, status }, null)
}
