import type { Logger } from 'pino'
import type { Users } from '../../base/accounts/users.ts'
import type { Mail } from '../../base/mail/mail.ts'
import { durationText } from '../../base/web/time-format.ts'
import { createRequestQueue, type RequestQueue } from '../../base/work/request-queue.ts'
import type { Audit } from '../access/audit.ts'
import { CENTER_TEXTS } from '../web/render.ts'
import { LINK_LIFETIME, type PasswordLinks } from './password-links.ts'

export type ForgottenPassword = {
  /** The email address that the user typed. */
  readonly asked: string
  /** The control center's origin for the link in the email, and the email's language. */
  readonly origin: string
  readonly locale: string
  /** The client's address, as in the audit log. */
  readonly address: string
  readonly correlationId: string
}

/** Sends an email with a link to choose a new password, if the requested account exists. */
export type ForgottenPasswords = RequestQueue<ForgottenPassword>

export type ForgottenPasswordNeeds = {
  readonly users: Pick<Users, 'find'>
  readonly passwordLinks: Pick<PasswordLinks, 'create'>
  readonly mail: Mail
  readonly audit: Audit
  readonly log: Pick<Logger, 'warn'>
}

/** Path of the page that an emailed link opens. */
export const NEW_PASSWORD_PATH = '/new-password'

export function createForgottenPasswords(needs: ForgottenPasswordNeeds): ForgottenPasswords {
  const { users, passwordLinks, mail, audit, log } = needs

  /** @returns false if there is no such account, or no email can be sent to it */
  async function sendLink({ asked, origin, locale }: ForgottenPassword): Promise<boolean> {
    const user = await users.find(asked)
    // Send the email to the stored address. The typed address may look the same but be a different one.
    if (!mail.isSetUp || !user?.enabled || user.email === null) return false
    const token = await passwordLinks.create(user.uid)
    if (token === null) return false
    const link = `${origin}${NEW_PASSWORD_PATH}#token=${token}`
    const text = (key: string, ...values: readonly (string | number)[]) => CENTER_TEXTS.text(locale, key, values)
    await mail.send({
      to: user.email,
      subject: text('letter.account.subject'),
      text: text(
        'letter.account.text',
        user.username,
        link,
        durationText(CENTER_TEXTS.language(locale), LINK_LIFETIME),
      ),
    })
    return true
  }

  return createRequestQueue(async (request) => {
    const isSent = await sendLink(request)
    const { asked, address, correlationId } = request
    const entry = { actor: `user:${asked}`, action: 'password-forgotten', address, correlationId }
    await (isSent ? audit.record({ ...entry, outcome: 'ok' }) : audit.recordOnce({ ...entry, outcome: 'refused' }))
  }, log)
}
