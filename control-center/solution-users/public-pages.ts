import type Router from '@koa/router'
import type { Context } from 'koa'
import type { Logger } from 'pino'
import { SolutionName } from '../../host/cloud/protocol.ts'
import { requireNavigation, sourceOfPost } from '../../host/http/fetch-metadata.ts'
import { readForm } from '../../host/http/read-body.ts'
import { stateOf } from '../../host/http/request.ts'
import type { Throttle } from '../../host/login/throttle.ts'
import { LONGEST_PASSWORD } from '../../host/users/password-rules.ts'
import { PlatformError } from '../../runtime/errors.ts'
import type { Limits } from '../../runtime/limits.ts'
import type { Activity } from '../access/activity.ts'
import { originOf } from '../access/browser-sessions.ts'
import type { CenterSettings } from '../config/settings.ts'
import { OrganisationName, type Organisations } from '../organisations/organisations.ts'
import { sendPage, textFor } from '../pages/page.ts'
import type { PasswordRequests } from './password-requests.ts'
import { LINK_PATH } from './send-links.ts'
import type { SolutionUsers } from './solution-users.ts'
import type { FoundLink, UserLinks } from './user-links.ts'

export type PublicUserPageParts = {
  readonly organisations: Organisations
  readonly solutionUsers: SolutionUsers
  readonly userLinks: UserLinks
  readonly passwordRequests: PasswordRequests
  readonly throttle: Throttle
  readonly activity: Activity
  readonly settings: Pick<CenterSettings, 'publicUrl'>
  readonly limits: Limits
  readonly log: Logger
}

/** Pages for users of solutions, who have no account here: they come by a link of a mail, or of a login page. */
export function addPublicUserPages(router: Router, parts: PublicUserPageParts): void {
  const { userLinks, solutionUsers, passwordRequests, throttle, activity, limits } = parts

  router.get(`${LINK_PATH}/:token`, async (ctx) => {
    requireNavigation(ctx)
    const found = await findLink(ctx)
    if (found === null) return showOver(ctx)
    if (found.kind === 'verification') showConfirm(ctx, found)
    else showChoose(ctx, found, null)
  })

  router.post(`${LINK_PATH}/:token`, async (ctx) => {
    requireOwnForm(ctx)
    const found = await findLink(ctx)
    if (found === null) return showOver(ctx)
    if (found.kind === 'verification') return confirm(ctx, found)
    await choose(ctx, found, await readForm(ctx, limits))
  })

  async function confirm(ctx: Context, found: FoundLink): Promise<void> {
    if (!(await userLinks.confirmAddress(tokenOf(ctx)))) return showOver(ctx)
    await note(ctx, found, 'solution-user-verified')
    showDone(ctx, 'userlink.confirmed', found)
  }

  async function choose(ctx: Context, found: FoundLink, fields: ReadonlyMap<string, string>): Promise<void> {
    const text = textFor(ctx)
    const [password, repeat] = [fields.get('new') ?? '', fields.get('repeat') ?? '']
    if (password !== repeat) return showChoose(ctx, found, text('platform.password.differ'))
    const fault = await solutionUsers.passwordFault(found.user.uid, password)
    if (fault !== null) return showChoose(ctx, found, text(fault.key, ...fault.values))
    if (!(await userLinks.choosePassword(tokenOf(ctx), password))) return showOver(ctx)
    await note(ctx, found, 'solution-user-password')
    showDone(ctx, 'userlink.chosen', found)
  }

  router.get('/forgot-password/:organisation/:solution', async (ctx) => {
    requireNavigation(ctx)
    showForgot(ctx, 'ask')
  })

  router.post('/forgot-password/:organisation/:solution', async (ctx) => {
    requireOwnForm(ctx)
    const asked = (await readForm(ctx, limits)).get('username') ?? ''
    const { organisation, solution } = namesOf(ctx)
    // Asked again and again it is as good as a guess: counted as such, before anything is looked up.
    const attempt = {
      source: `forgot ${organisation} ${solution}`,
      username: asked,
      address: stateOf(ctx).client.address,
    }
    const wait = await throttle.count(attempt, false)
    if (wait !== null) {
      ctx.set('Retry-After', String(wait))
      return showForgot(ctx, 'throttled', wait)
    }
    const origin = parts.settings.publicUrl?.origin ?? originOf(ctx)
    passwordRequests.take({ organisation, solution, asked: asked.trim(), origin })
    showForgot(ctx, 'asked')
  })

  /** Whoever tries tokens that there are none of is counted by network. */
  async function findLink(ctx: Context): Promise<FoundLink | null> {
    const attempt = { source: 'user-link', username: '', address: stateOf(ctx).client.address }
    const wait = await throttle.count(attempt, true)
    if (wait !== null) {
      ctx.set('Retry-After', String(wait))
      throw new PlatformError('ERR_THROTTLED', `Too many attempts; try again in ${wait} seconds.`, { retryAfter: wait })
    }
    const found = await userLinks.find(tokenOf(ctx))
    if (found !== null) await throttle.succeeded(attempt, true)
    return found
  }

  async function note(ctx: Context, found: FoundLink, action: string): Promise<void> {
    const { client, correlationId } = stateOf(ctx)
    const { organisation, solution, user } = found
    const act = {
      organisation,
      actor: `solution-user:${user.username}`,
      action,
      subject: `${solution} ${user.username}`,
    }
    await activity.record({ ...act, outcome: 'ok', address: client.address, correlationId })
  }

  function showChoose(ctx: Context, { user, solution, kind }: FoundLink, refusal: string | null): void {
    const model = {
      username: user.username,
      solution,
      kind,
      refusal,
      leastLength: limits.PASSWORD_LENGTH,
      longest: LONGEST_PASSWORD,
    }
    const heading = textFor(ctx)(`userlink.choose.${kind}`)
    sendPage(ctx, { template: 'user-link-password', heading, model, status: refusal === null ? 200 : 422 }, null)
  }

  function showConfirm(ctx: Context, { user, solution }: FoundLink): void {
    const model = { email: user.email, username: user.username, solution }
    sendPage(ctx, { template: 'user-link-confirm', heading: textFor(ctx)('userlink.confirm'), model }, null)
  }

  function showDone(ctx: Context, key: string, { solution }: FoundLink): void {
    const text = textFor(ctx)
    sendPage(
      ctx,
      { template: 'user-link-said', heading: text(key), model: { said: text(`${key}.text`, solution) } },
      null,
    )
  }

  /** The same for a link that never was: nobody learns which there are. */
  function showOver(ctx: Context): void {
    const text = textFor(ctx)
    const model = { said: text('userlink.over.text') }
    sendPage(ctx, { template: 'user-link-said', heading: text('userlink.over'), model, status: 404 }, null)
  }

  function showForgot(ctx: Context, state: 'ask' | 'asked' | 'throttled', wait = 0): void {
    const text = textFor(ctx)
    const model = { state, solution: namesOf(ctx).solution, minutes: Math.ceil(wait / 60) }
    const status = state === 'throttled' ? 429 : 200
    sendPage(ctx, { template: 'forgot-password', heading: text('userlink.forgot'), model, status }, null)
  }
}

/** Any that could exist: the page is the same for those that do not. @throws ERR_NOT_FOUND for what nothing can be called */
function namesOf(ctx: Context): { readonly organisation: string; readonly solution: string } {
  const { organisation = '', solution = '' } = ctx.params as { organisation?: string; solution?: string }
  if (OrganisationName.safeParse(organisation).success && SolutionName.safeParse(solution).success) {
    return { organisation, solution }
  }
  throw new PlatformError('ERR_NOT_FOUND', 'There is no such page.')
}

function tokenOf(ctx: Context): string {
  return String((ctx.params as { token?: unknown }).token ?? '').slice(0, 100)
}

/** Browsers say with every POST where it comes from. */
function requireOwnForm(ctx: Context): void {
  requireNavigation(ctx)
  if (sourceOfPost(ctx, originOf(ctx)) === 'same-origin') return
  throw new PlatformError('ERR_FOREIGN_ORIGIN', 'The form was not sent by a page of the control center.')
}
