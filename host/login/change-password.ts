import type { Context } from 'koa'
import type { FormTokens } from '../../base/accounts/form-token.ts'
import type { KnownBrowsers } from '../../base/accounts/known-browser.ts'
import { createPasswordTickets } from '../../base/accounts/password-tickets.ts'
import type { Session } from '../../base/accounts/sessions.ts'
import type { Throttle } from '../../base/accounts/throttle.ts'
import type { User, Users } from '../../base/accounts/users.ts'
import type { ActiveSolution } from '../../base/bundles/active-solution.ts'
import type { PlatformKey } from '../../base/config/platform-key.ts'
import { cookieScope, stateOf } from '../../base/http/request.ts'
import type { Sites } from '../../base/http/sites.ts'
import { platformText } from '../../base/web/texts.ts'
import { PlatformError } from '../../runtime/errors.ts'
import type { Limits } from '../../runtime/limits.ts'
import type { Audit } from '../access/audit.ts'
import { changePasswordPage } from '../web/pages.ts'
import type { Arrival } from './arrival.ts'
import { readPlatformForm } from './own-page.ts'
import { refuseOwnPassword } from './own-password.ts'
import { sendPage } from './send-page.ts'

/**
 * The page `/solution/{name}/password`, where users in the users table change their own password. They must be signed
 * in, or have just entered the correct password. After the change, they must sign in again in every browser.
 */
export interface ChangePasswordPages {
  /** Sends the page instead of starting a session, because the user must change the password they have just entered. */
  demand(ctx: Context, solution: ActiveSolution, locale: string, user: User): void
  /**
   * Sends the page to a user who is signed in. Others are redirected to the login page.
   * @throws ERR_NOT_FOUND if the user's password is not in the users table
   */
  show(ctx: Context, solution: ActiveSolution, session: Session | null): Promise<void>
  /** Handles the page's form. */
  submit(ctx: Context, solution: ActiveSolution, locale: string, session: Session | null): Promise<void>
}

export type ChangePasswordParts = {
  readonly limits: Limits
  readonly sites: Sites
  readonly formTokens: FormTokens
  readonly key: PlatformKey
  readonly users: Users
  readonly throttle: Throttle
  readonly knownBrowsers: KnownBrowsers
  readonly audit: Audit
}

/** `changed`: someone else has changed the user's password in the meantime, which ends the session and the ticket. */
type Refusal = { readonly status: 422 | 429; readonly text: string } | 'changed'

/** The user who sent the form. The ticket proves their identity; it is null if their session does. */
type Person = { readonly user: User; readonly ticket: string | null }

export function createChangePasswordPages(parts: ChangePasswordParts): ChangePasswordPages {
  const { limits, sites, formTokens, key, users, audit } = parts
  const tickets = createPasswordTickets(users, key, 'change-password')

  function send(
    ctx: Context,
    solution: ActiveSolution,
    locale: string,
    { user, ticket }: Person,
    status: number,
    refusal: string | null,
  ): void {
    const model = {
      username: user.username,
      mustChange: ticket !== null,
      ticket,
      formToken: formTokens.issue(ctx, cookieScope(ctx, sites, solution.name)),
      action: passwordPath(solution.name),
      leastLength: limits.PASSWORD_LENGTH,
      refusal,
      cancelHref: ticket === null ? `/solution/${solution.name}/index.html` : null,
    }
    sendPage({ ctx, locale }, status, (frame) => changePasswordPage(frame, model))
  }

  async function personOf(solution: string, ticket: string, session: Session | null): Promise<Person | null> {
    if (ticket !== '') {
      const user = await tickets.read(ticket, solution)
      return user === null ? null : { user, ticket }
    }
    const user = session?.source === 'users' ? await users.get(session.uid) : null
    return user === null || user.directory !== null ? null : { user, ticket: null }
  }

  /** @returns why the password was rejected; null if it was changed */
  async function change(
    from: Pick<Arrival, 'ctx' | 'locale' | 'scope'>,
    { user, ticket }: Person,
    fields: ReadonlyMap<string, string>,
  ): Promise<Refusal | null> {
    const { locale } = from
    const wanted = fields.get('new') ?? ''
    if (ticket === null) {
      const refusal = await refuseOwnPassword(from, user, fields.get('current') ?? '', parts)
      if (refusal !== null) return { status: refusal.isThrottled ? 429 : 422, text: refusal.text }
    }
    if (wanted !== fields.get('repeat')) return { status: 422, text: platformText(locale, 'platform.password.differ') }
    const fault = await users.choosePassword(user, wanted, locale)
    return fault === null || fault === 'changed'
      ? fault
      : { status: 422, text: platformText(locale, fault.key, fault.values) }
  }

  return {
    demand(ctx, solution, locale, user) {
      send(ctx, solution, locale, { user, ticket: tickets.issue(user, solution.name) }, 200, null)
    },
    async show(ctx, solution, session) {
      if (session === null) return goToLogin(ctx, solution.name, '')
      const person = await personOf(solution.name, '', session)
      if (person === null) throw noPassword()
      send(ctx, solution, session.locale, person, 200, null)
    },
    async submit(ctx, solution, locale, session) {
      const scope = cookieScope(ctx, sites, solution.name)
      const serverUrl = sites.originOf(solution.name, stateOf(ctx).client)
      const fields = await readPlatformForm({ ctx, scope, serverUrl }, parts)
      const person = await personOf(solution.name, fields.get('ticket') ?? '', session)
      if (person === null) return goToLogin(ctx, solution.name, '')
      const refusal = await change({ ctx, locale, scope }, person, fields)
      audit.note({
        actor: `user:${person.user.username}`,
        action: 'password-change',
        solution: solution.name,
        outcome: refusal === null ? 'ok' : 'refused',
        address: stateOf(ctx).client.address,
        correlationId: stateOf(ctx).correlationId,
      })
      if (refusal === null) goToLogin(ctx, solution.name, '?password-changed')
      else if (refusal === 'changed') goToLogin(ctx, solution.name, '')
      else send(ctx, solution, locale, person, refusal.status, refusal.text)
    },
  }
}

export function passwordPath(solution: string): string {
  return `/solution/${solution}/password`
}

function goToLogin(ctx: Context, solution: string, query: string): void {
  ctx.status = 303
  ctx.set('Location', `/solution/${solution}/index.html${query}`)
}

function noPassword(): PlatformError {
  return new PlatformError(
    'ERR_NOT_FOUND',
    'Your password is not stored on this server, so this page cannot change it. Ask your administrator where to change it.',
  )
}
