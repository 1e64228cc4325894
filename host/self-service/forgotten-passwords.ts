import type { Logger } from 'pino'
import { createRequestQueue, type RequestQueue } from '../../base/work/request-queue.ts'
import type { Audit } from '../access/audit.ts'
import type { LinkedUsers } from '../links/linked-users.ts'
import type { LinkSolution, SendLinks } from '../links/send-links.ts'

export type ForgottenPassword = {
  /** A username or an email address, as typed. */
  readonly asked: string
  readonly solution: LinkSolution
  readonly locale: string
  /** The client's IP address, for the audit log. */
  readonly address: string
  readonly correlationId: string
}

/**
 * Mails a link to choose a new password. The mail is sent after the response, so neither the response nor its timing
 * reveals which users exist.
 */
export type ForgottenPasswords = RequestQueue<ForgottenPassword>

export type ForgottenPasswordParts = {
  readonly linkedUsers: Pick<LinkedUsers, 'find'>
  readonly sendLinks: Pick<SendLinks, 'fromUser'>
  readonly audit: Audit
  readonly log: Pick<Logger, 'warn'>
}

export function createForgottenPasswords(parts: ForgottenPasswordParts): ForgottenPasswords {
  const { linkedUsers, sendLinks, audit, log } = parts

  return createRequestQueue(async ({ asked, solution, locale, address, correlationId }) => {
    const user = await linkedUsers.find(asked)
    const isSent = user !== null && (await sendLinks.fromUser({ kind: 'password', user, solution, locale }))
    const entry = { action: 'password-forgotten', solution: solution.name, address, correlationId } as const
    if (isSent) audit.note({ ...entry, actor: `user:${user.username}`, outcome: 'ok' })
    else audit.noteOnce({ ...entry, actor: `user:${user?.username ?? asked}`, outcome: 'refused' })
  }, log)
}
