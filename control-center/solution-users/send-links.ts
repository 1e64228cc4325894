import { PlatformError } from '../../runtime/errors.ts'
import type { Mail } from '../mail/mail.ts'
import type { Organisation } from '../organisations/organisations.ts'
import { CENTER_TEXTS } from '../web/render.ts'
import type { LinkKind, UserLinks } from './user-links.ts'
import type { SolutionUser } from './user-rows.ts'

/** Whom a link is for, and where the control center is for him: an origin. */
export type Recipient = {
  readonly organisation: Pick<Organisation, 'title'>
  readonly solution: string
  readonly user: SolutionUser
  readonly origin: string
}

/** `link` where it could not be mailed: whoever asked passes it on. */
export type SentLink =
  | { readonly mailedTo: string; readonly expiresAt: number }
  | { readonly link: string; readonly expiresAt: number }

export interface SendLinks {
  /**
   * Made by an operator: it takes the place of earlier ones.
   * @throws ERR_REQUEST_INVALID for what makes no sense for this user, ERR_MAIL_UNAVAILABLE when too many mails wait
   */
  fromOperator(kind: LinkKind, recipient: Recipient): Promise<SentLink>
  /** Asked for at a login page, by anybody: only ever mailed, and not more than three at a time. */
  fromUser(kind: 'reset' | 'verification', recipient: Recipient): Promise<void>
}

const HOUR = 3_600_000
/** In ms, for those that operators make. */
const LIFETIMES = { invitation: 7 * 24 * HOUR, reset: 24 * HOUR, verification: 3 * 24 * HOUR } as const
/** In ms, for those that anybody can ask for. */
const ASKED_FOR = { reset: HOUR, verification: 24 * HOUR } as const

/** The path of the page that a link leads to. */
export const LINK_PATH = '/user-link'

export function createSendLinks(links: UserLinks, mail: Mail): SendLinks {
  async function post(kind: LinkKind, recipient: Recipient, to: string, link: string, lifetime: number): Promise<void> {
    const { organisation, solution, user } = recipient
    const text = (part: string, ...values: readonly (string | number)[]) =>
      CENTER_TEXTS.text(user.locale, `letter.${kind}.${part}`, values)
    await mail.send({
      to,
      subject: text('subject', solution, organisation.title),
      text: text(
        'text',
        user.displayName ?? user.username,
        user.username,
        solution,
        organisation.title,
        link,
        lifetime / HOUR,
      ),
    })
  }

  return {
    async fromOperator(kind, recipient) {
      const { user, origin } = recipient
      refuseNonsense(kind, user, mail)
      const to = mail.isSetUp ? user.email : null
      await links.revoke(user.uid, kind)
      const lifetime = LIFETIMES[kind]
      const made = await links.create(user.uid, { kind, proves: to, lifetime })
      if (made === null) throw new TypeError('a link was refused after the others were revoked')
      const { token, expiresAt } = made
      const link = `${origin}${LINK_PATH}/${token}`
      if (to === null) return { link, expiresAt }
      await post(kind, recipient, to, link, lifetime)
      return { mailedTo: to, expiresAt }
    },
    async fromUser(kind, recipient) {
      const { user, origin } = recipient
      if (!mail.isSetUp || user.email === null || !user.enabled) return
      const lifetime = ASKED_FOR[kind]
      const made = await links.create(user.uid, { kind, proves: user.email, lifetime })
      if (made === null) return
      await post(kind, recipient, user.email, `${origin}${LINK_PATH}/${made.token}`, lifetime)
    },
  }
}

function refuseNonsense(kind: LinkKind, { enabled, email, username }: SolutionUser, { isSetUp }: Mail): void {
  const refuse = (why: string) => {
    throw new PlatformError('ERR_REQUEST_INVALID', `${JSON.stringify(username)} ${why}`)
  }
  if (!enabled) refuse('is disabled: enable the user first.')
  if (kind !== 'verification') return
  if (email === null) refuse('has no e-mail address to confirm.')
  if (!isSetUp) refuse('can be sent no mail: set SMTP_URL and MAIL_FROM, or set "emailVerified" yourself.')
}
