import type { Session } from '../../base/accounts/sessions.ts'
import { MailAddress } from '../../base/config/mail-address.ts'
import { platformText } from '../../base/web/texts.ts'
import type { Arrival } from '../login/arrival.ts'
import type { AccountModel } from '../web/pages.ts'
import type { SecondStepParts } from './second-step-parts.ts'

type Answer = {
  readonly status: number
  readonly refusal: string | null
  readonly said: string | null
  /** What the user entered, so that they can correct it or try again; null if a link was sent. */
  readonly entered: string | null
}

/** The user's address, as shown on the account page; null if this host doesn't store it. */
export async function addressOf(session: Session, parts: SecondStepParts): Promise<AccountModel['email']> {
  const user = await userOf(session, parts)
  if (user === null) return null
  return { address: user.email, isVerified: user.emailVerifiedAt !== null, isMailing: parts.mail.isSetUp }
}

/** Mails a verification link, either to the new address that the user entered or to their current one. */
export async function requestAddress(
  { solution, locale }: Arrival,
  session: Session,
  fields: ReadonlyMap<string, string>,
  parts: SecondStepParts,
): Promise<Answer> {
  const text = (key: string, ...values: readonly string[]) =>
    platformText(locale, `platform.account.email.${key}`, values)
  const user = await userOf(session, parts)
  const isNew = fields.get('act') === 'new-address'
  const given = (isNew ? fields.get('address') : user?.email)?.trim()
  const refused = { said: null, entered: isNew ? (given ?? '') : null }
  const address = MailAddress.safeParse(given).data
  if (user === null || address === undefined) return { status: 422, refusal: text('wrong'), ...refused }
  const of = { name: solution.name, title: solution.manifest.title }
  const isSent = await parts.sendLinks.fromUser({ kind: 'verify', address, user, solution: of, locale })
  if (!isSent) return { status: 429, refusal: text('unsent'), ...refused }
  return { status: 200, refusal: null, said: text('sent', address), entered: null }
}

/**
 * @returns the session's user if their password is in the users table; null if a directory or another source checks it
 */
async function userOf({ factorsOf, source, uid }: Session, { users }: SecondStepParts) {
  const user = factorsOf === 'users' && source === 'users' ? await users.get(uid) : null
  return user?.directory === null ? user : null
}
