import type { Logger } from 'pino'
import { MailAddress } from '../config/mail-address.ts'
import type { Mail } from '../mail/mail.ts'
import { platformText } from '../web/texts.ts'
import type { User } from './users.ts'

/** Events that users are notified about. The texts of the emails are under the message key `platform.notice`. */
export type NoticeKind = 'password' | 'address' | 'factors' | 'recovery'

type Notified = Pick<User, 'username' | 'email' | 'locale'>

/** Emails users when their account changes, so that they notice if someone else changed it. */
export interface Notices {
  /** Never throws. Users without an address get no email. */
  send(kind: NoticeKind, user: Notified): void
  /** Resolves when all notices are in the mail queue. */
  settle(): Promise<void>
}

/** @param server the service's host name, which the emails show; null if it isn't configured */
export function createNotices(mail: Mail, log: Pick<Logger, 'warn'>, server: string | null): Notices {
  let running: Promise<unknown> = Promise.resolve()

  async function queue(kind: NoticeKind, { username, email, locale }: Notified): Promise<void> {
    const to = MailAddress.safeParse(email)
    if (!mail.isSetUp || !to.success) return
    const text = (key: string, ...values: readonly string[]) => platformText(locale ?? 'en', key, values)
    const what = text(`platform.notice.${kind}`)
    const where = server === null ? '' : `\n${text('platform.notice.server', server)}`
    await mail.send({
      to: to.data,
      subject: text('platform.notice.subject'),
      text: text('platform.notice.text', username, what, where),
    })
  }

  return {
    send(kind, user) {
      running = running
        .then(() => queue(kind, user))
        .catch((error: Error) => log.warn({ kind, stack: error.stack }, 'a notification email could not be queued'))
    },
    settle: async () => void (await running),
  }
}
