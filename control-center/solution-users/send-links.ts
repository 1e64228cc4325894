import type { Mail } from '../../base/mail/mail.ts'
import type { MailOrigin } from '../../base/mail/mail-shares.ts'
import { durationText } from '../../base/web/time-format.ts'
import { PlatformError } from '../../runtime/errors.ts'
import type { Organisation } from '../access/organisation.ts'
import { CENTER_TEXTS } from '../web/render.ts'
import type { LinkKind, UserLinks } from './user-links.ts'
import type { SolutionUser } from './user-rows.ts'

/** The recipient of a link. `origin` is the control center's origin as used by the recipient's browser. */
export type Recipient = {
  readonly organisation: Pick<Organisation, 'id' | 'title'>
  readonly solution: string
  readonly user: SolutionUser
  readonly origin: string
}

/** `link` is set if the link could not be mailed, so that the operator can pass it on. */
export type SentLink =
  | { readonly mailedTo: string; readonly expiresAt: number }
  | { readonly link: string; readonly expiresAt: number }

export interface SendLinks {
  /**
   * Makes sure that the organisation may send another email. Call this before creating a user who is invited in the
   * same request.
   * @param email null if no email is sent
   * @throws ERR_THROTTLED if the organisation has sent too many emails
   */
  needShare(organisation: Pick<Organisation, 'id'>, email: string | null): Promise<void>
  /**
   * Creates a link for an operator. It replaces earlier links of the same kind.
   * @throws ERR_REQUEST_INVALID if this kind of link doesn't apply to the user, ERR_MAIL_UNAVAILABLE if too many emails
   * are queued
   * @throws ERR_THROTTLED if the organisation has sent too many emails
   */
  fromOperator(kind: LinkKind, recipient: Recipient): Promise<SentLink>
  /**
   * Creates a link of a kind that anyone can request on a login page. The link is mailed, never shown. At most three
   * links are valid at a time. If the organisation has used up its mail quota, no link is sent.
   */
  fromUser(kind: 'reset' | 'verification', recipient: Recipient): Promise<void>
}

const HOUR = 3_600_000
/** Lifetime in ms of links that operators create. */
const LIFETIMES = { invitation: 7 * 24 * HOUR, reset: 24 * HOUR, verification: 3 * 24 * HOUR } as const
/** Lifetime in ms of links that anyone can request. */
const ASKED_FOR = { reset: HOUR, verification: 24 * HOUR } as const

/** Path of the page that a link opens. */
export const LINK_PATH = '/user-link'

export function createSendLinks(links: UserLinks, mail: Mail): SendLinks {
  type Letter = { readonly to: string; readonly link: string; readonly lifetime: number }

  async function post(
    kind: LinkKind,
    recipient: Recipient,
    { to, link, lifetime }: Letter,
    askedBy: MailOrigin['askedBy'],
  ): Promise<void> {
    const { organisation, solution, user } = recipient
    const text = (part: string, ...values: readonly string[]) =>
      CENTER_TEXTS.text(user.locale, `letter.${kind}.${part}`, values)
    const subject = text('subject', solution, organisation.title)
    const name = user.displayName ?? user.username
    const validFor = durationText(CENTER_TEXTS.language(user.locale), lifetime)
    const body = text('text', name, user.username, solution, organisation.title, link, validFor)
    await mail.send({ to, subject, text: body }, { organisation: organisation.id, askedBy })
  }

  async function mailAskedFor(kind: 'reset' | 'verification', recipient: Recipient): Promise<void> {
    const { user, origin, organisation } = recipient
    if (!mail.isSetUp || user.email === null || !user.enabled) return
    await mail.needShare({ organisation: organisation.id, askedBy: 'anybody' })
    const lifetime = ASKED_FOR[kind]
    const created = await links.create(user.uid, { kind, proves: user.email, lifetime })
    if (created === null) return
    await post(kind, recipient, { to: user.email, link: linkTo(origin, created.token), lifetime }, 'anybody')
  }

  async function needShare({ id }: Pick<Organisation, 'id'>, email: string | null): Promise<void> {
    if (mail.isSetUp && email !== null) await mail.needShare({ organisation: id, askedBy: 'member' })
  }

  return {
    needShare,
    async fromOperator(kind, recipient) {
      const { user, origin, organisation } = recipient
      refuseNonsense(kind, user, mail)
      const to = mail.isSetUp ? user.email : null
      // Check this now, before earlier links are revoked.
      await needShare(organisation, to)
      await links.revoke(user.uid, kind)
      const lifetime = LIFETIMES[kind]
      const created = await links.create(user.uid, { kind, proves: to, lifetime })
      if (created === null)
        throw new TypeError(
          'the user has the maximum number of links, although all earlier links of this kind were just revoked',
        )
      const { token, expiresAt } = created
      const link = linkTo(origin, token)
      if (to === null) return { link, expiresAt }
      await post(kind, recipient, { to, link, lifetime }, 'member')
      return { mailedTo: to, expiresAt }
    },
    async fromUser(kind, recipient) {
      try {
        await mailAskedFor(kind, recipient)
      } catch (error) {
        // Only the log shows that the mail quota is used up. The response doesn't reveal it.
        if (!(error instanceof PlatformError) || error.code !== 'ERR_THROTTLED') throw error
      }
    },
  }
}

/** The token is in the fragment, so that it does not appear in the logs of servers and proxies. */
function linkTo(origin: string, token: string): string {
  return `${origin}${LINK_PATH}#token=${token}`
}

function refuseNonsense(kind: LinkKind, { enabled, email, username }: SolutionUser, { isSetUp }: Mail): void {
  const refuse = (why: string) => {
    throw new PlatformError('ERR_REQUEST_INVALID', `${JSON.stringify(username)} ${why}`)
  }
  if (!enabled) refuse('is disabled. Enable the user first.')
  if (kind !== 'verification') return
  if (email === null) refuse('has no email address to confirm. Add one first.')
  if (!isSetUp)
    refuse(
      'cannot receive emails, because no mail server is configured. Ask the operator of the control center to set SMTP_URL and MAIL_FROM, or set the user’s "emailVerified" to true instead.',
    )
}
