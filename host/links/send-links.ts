import type { User } from '../../base/accounts/users.ts'
import { MailAddress } from '../../base/config/mail-address.ts'
import type { Sites } from '../../base/http/sites.ts'
import type { Mail } from '../../base/mail/mail.ts'
import type { MailOrigin } from '../../base/mail/mail-shares.ts'
import { platformLanguage, platformText } from '../../base/web/texts.ts'
import { durationText } from '../../base/web/time-format.ts'
import { PlatformError } from '../../runtime/errors.ts'
import { z } from '../../runtime/zod.ts'
import { BY_ANYBODY, BY_OPERATOR } from './host-mail.ts'
import { LINK_LIFETIMES, type LinkKind, type Links, type MadeLink } from './links.ts'

/** The solution whose page a link opens. */
export type LinkSolution = { readonly name: string; readonly title: string }

/** The kinds of links that operators can create. */
export const OPERATOR_KINDS = ['invitation', 'password', 'set-up'] as const
export type OperatorKind = (typeof OPERATOR_KINDS)[number]

export const SentLink = z
  .object({
    expiresAt: z.int().min(0),
    mailedTo: z
      .string()
      .nullable()
      .describe('the email address that the link was sent to; null if `link` is set instead'),
    link: z
      .string()
      .nullable()
      .describe(
        'the link, if no email could be sent; otherwise null. Pass it on to the user: it is not shown again. Without `PUBLIC_URL` and `SOLUTION_ORIGIN`, it is a path without an origin',
      ),
  })
  .meta({ id: 'SentLink' })
export type SentLink = z.output<typeof SentLink>

export type RequestedLink = {
  readonly user: User
  readonly solution: LinkSolution
  /** The language for the email, unless the user has a stored one. */
  readonly locale: string
} & ({ readonly kind: 'password' } | { readonly kind: 'verify'; readonly address: string })

/** Creates links and mails them. */
export interface SendLinks {
  /**
   * Checks that another email can be sent. Call this before creating a user who is invited in the same request.
   * @throws ERR_THROTTLED, ERR_MAIL_UNAVAILABLE
   */
  needShare(email: string | null): Promise<void>
  /**
   * Creates a link for an operator, and mails it to the user if possible. The link replaces earlier ones of its kind.
   * @throws ERR_REQUEST_INVALID if the user is disabled; ERR_THROTTLED, ERR_MAIL_UNAVAILABLE
   */
  fromOperator(kind: OperatorKind, user: User, solution: LinkSolution): Promise<SentLink>
  /**
   * Mails a link that a user requested, or that anyone requested on a login page.
   * @returns false if no email can be sent now, or the user already has three valid links
   */
  fromUser(requested: RequestedLink): Promise<boolean>
}

export type SendLinksParts = {
  readonly links: Links
  readonly mail: Mail
  readonly sites: Pick<Sites, 'linkOriginOf'>
}

/** The path of the page that a link opens, below the solution's path. */
const PAGES: Readonly<Record<LinkKind, string>> = {
  invitation: 'invitation',
  password: 'new-password',
  verify: 'verify-address',
  'set-up': 'set-up',
}

export function createSendLinks({ links, mail, sites }: SendLinksParts): SendLinks {
  /** The token is in the fragment, so that it doesn't appear in the logs of servers and proxies. */
  function linkTo({ name }: LinkSolution, kind: LinkKind, { token }: MadeLink): string {
    return `${sites.linkOriginOf(name) ?? ''}/solution/${name}/${PAGES[kind]}#token=${token}`
  }

  async function post(
    kind: LinkKind,
    { user, solution, locale }: Pick<RequestedLink, 'user' | 'solution' | 'locale'>,
    { to, made }: { readonly to: string; readonly made: MadeLink },
    origin: MailOrigin,
  ): Promise<void> {
    const { username, displayName } = user
    const language = platformLanguage(user.locale ?? locale)
    const text = (part: string, ...values: readonly string[]) =>
      platformText(language, `platform.letter.${kind}.${part}`, values)
    const link = linkTo(solution, kind, made)
    const validFor = durationText(language, LINK_LIFETIMES[kind])
    const body = text('text', displayName ?? username, username, solution.title, link, validFor)
    await mail.send({ to, subject: text('subject', solution.title), text: body }, origin)
  }

  async function mailRequested(requested: RequestedLink): Promise<boolean> {
    const { kind, user, solution } = requested
    const to = kind === 'verify' ? mailable(requested.address) : mailable(user.email)
    if (!mail.isSetUp || to === null || !user.enabled) return false
    await mail.needShare(BY_ANYBODY)
    const address = kind === 'verify' ? { address: to } : {}
    const made = await links.create(user, { kind, solution: solution.name, isMailed: true, ...address })
    if (made === null) return false
    await post(kind, requested, { to, made }, BY_ANYBODY)
    return true
  }

  async function needShare(email: string | null): Promise<void> {
    if (mail.isSetUp && mailable(email) !== null) await mail.needShare(BY_OPERATOR)
  }

  return {
    needShare,
    async fromOperator(kind, user, solution) {
      if (!user.enabled) {
        const name = JSON.stringify(user.username)
        throw new PlatformError('ERR_REQUEST_INVALID', `${name} is disabled. Enable the user first.`)
      }
      const to = mail.isSetUp ? mailable(user.email) : null
      // Check the email limit before revoking earlier links.
      await needShare(user.email)
      await links.revoke(user.uid, kind)
      const made = await links.create(user, { kind, solution: solution.name, isMailed: to !== null })
      if (made === null)
        throw new PlatformError(
          'ERR_CHANGED_MEANWHILE',
          'Another request created links for this user at the same time. Try again.',
        )
      const { expiresAt } = made
      if (to === null) return { expiresAt, mailedTo: null, link: linkTo(solution, kind, made) }
      await post(kind, { user, solution, locale: 'en' }, { to, made }, BY_OPERATOR)
      return { expiresAt, mailedTo: to, link: null }
    },
    async fromUser(requested) {
      try {
        return await mailRequested(requested)
      } catch (error) {
        // Only the log reports that the limit is reached. Don't tell strangers.
        if (error instanceof PlatformError && error.code === 'ERR_THROTTLED') return false
        throw error
      }
    },
  }
}

/** @returns the address; null if there is none, or if mail servers could interpret it differently */
function mailable(email: string | null): string | null {
  return MailAddress.safeParse(email).data ?? null
}

/** Invitations, and other links that operators create. */
export interface OperatorLinks extends Pick<SendLinks, 'needShare' | 'fromOperator'> {
  /** Whether links are sent by email. */
  readonly isMailing: boolean
  /** Lists the solutions whose sign-in uses the users table. Links can open these solutions' pages. */
  solutions(): Promise<readonly LinkSolution[]>
  /**
   * @param name if undefined, the default solution is returned, or the only one if there is no default
   * @throws ERR_REQUEST_INVALID if the solution is unknown, or there are several and none is the default
   */
  solutionFor(name: string | undefined): Promise<LinkSolution>
}
