import type Router from '@koa/router'
import type { Context } from 'koa'
import type { Logger } from 'pino'
import type { Throttle } from '../../base/accounts/throttle.ts'
import type { ServiceSettings } from '../../base/config/service-settings.ts'
import { requireNavigation } from '../../base/http/fetch-metadata.ts'
import { readForm } from '../../base/http/read-body.ts'
import { stateOf } from '../../base/http/request.ts'
import { SolutionName } from '../../base/protocol/protocol.ts'
import type { Brand } from '../../base/web/render-page.ts'
import { PlatformError } from '../../runtime/errors.ts'
import type { Limits } from '../../runtime/limits.ts'
import type { Audit } from '../access/audit.ts'
import type { Place } from '../access/of-solution.ts'
import { publicOriginOf } from '../access/page-sessions.ts'
import {
  countForgot,
  findLink,
  showForgot,
  showOpened,
  showOver,
  showPasswordChoice,
  showSaid,
} from '../accounts/link-pages.ts'
import { requireOwnForm } from '../accounts/own-form.ts'
import { brandOf } from '../login-pages/brand.ts'
import type { LoginPages } from '../login-pages/login-pages.ts'
import { OrganisationName, type Organisations } from '../organisations/organisations.ts'
import { localeOf, sendPage, textFor } from '../pages/page.ts'
import type { ForgotAddress, NamedSolution } from './forgot-address.ts'
import type { PasswordRequests } from './password-requests.ts'
import { LINK_PATH } from './send-links.ts'
import type { SolutionUsers } from './solution-users.ts'
import type { FoundLink, UserLinks } from './user-links.ts'

export type PublicUserPageParts = {
  readonly organisations: Organisations
  readonly solutionUsers: SolutionUsers
  readonly userLinks: UserLinks
  readonly loginPages: Pick<LoginPages, 'published'>
  readonly forgotAddress: ForgotAddress
  readonly passwordRequests: PasswordRequests
  readonly throttle: Throttle
  readonly audit: Audit
  readonly settings: Pick<ServiceSettings, 'publicUrl'>
  readonly limits: Limits
  readonly log: Logger
}

/**
 * Pages for users of solutions. These users have no account in the control center. They follow a link in an email or on
 * a login page.
 */
export function addPublicUserPages(router: Router, parts: PublicUserPageParts): void {
  const { userLinks, loginPages, solutionUsers, passwordRequests, throttle, audit, limits } = parts

  router.get(LINK_PATH, (ctx) => {
    requireNavigation(ctx)
    const text = textFor(ctx)
    showOpened(ctx, LINK_PATH, text('userlink.open'), text('userlink.open.text'))
  })

  router.post(LINK_PATH, async (ctx) => {
    requireOwnForm(ctx)
    const fields = await readForm(ctx, limits)
    const token = fields.get('token') ?? ''
    const found = await findLink(ctx, throttle, () => userLinks.find(token))
    if (found === null) return showVoid(ctx)
    if (found.kind === 'verification') return confirm(ctx, token, found, fields)
    if (!fields.has('new')) return showChoice(ctx, token, found, null)
    await choose(ctx, token, found, fields)
  })

  async function confirm(ctx: Context, token: string, found: FoundLink, fields: Fields): Promise<void> {
    // Opening a link must not confirm anything: mail scanners also open links, and some run scripts.
    if (fields.get('confirm') !== 'yes') return showConfirm(ctx, token, found, await brandFor(ctx, found))
    if (!(await userLinks.confirmAddress(token))) return showVoid(ctx)
    await note(ctx, found, 'solution-user-verified')
    showDone(ctx, 'userlink.confirmed', found, await brandFor(ctx, found))
  }

  async function choose(ctx: Context, token: string, found: FoundLink, fields: Fields): Promise<void> {
    const text = textFor(ctx)
    const [password, repeat] = [fields.get('new') ?? '', fields.get('repeat') ?? '']
    if (password !== repeat) return showChoice(ctx, token, found, text('platform.password.differ'))
    const fault = await solutionUsers.passwordFault(found.user.uid, password)
    if (fault !== null) return showChoice(ctx, token, found, text(fault.key, ...fault.values))
    if (!(await userLinks.choosePassword(token, password))) return showVoid(ctx)
    await note(ctx, found, 'solution-user-password')
    showDone(ctx, 'userlink.chosen', found, await brandFor(ctx, found))
  }

  router.get('/forgot-password/:organisation/:solution', async (ctx) => {
    requireNavigation(ctx)
    await showForgotOf(ctx, 'ask')
  })

  router.post('/forgot-password/:organisation/:solution', async (ctx) => {
    requireOwnForm(ctx)
    const asked = (await readForm(ctx, limits)).get('username') ?? ''
    const { organisation, solution } = namesOf(ctx)
    const wait = await countForgot(ctx, throttle, `forgot ${organisation} ${solution}`, asked)
    if (wait !== null) return await showForgotOf(ctx, wait)
    const origin = publicOriginOf(ctx, parts.settings)
    passwordRequests.take({ organisation, solution, asked: asked.trim(), origin })
    await showForgotOf(ctx, 'asked')
  })

  async function note(ctx: Context, found: FoundLink, action: string): Promise<void> {
    const { client, correlationId } = stateOf(ctx)
    const { organisation, solution, user } = found
    const act = {
      organisation,
      actor: `solution-user:${user.username}`,
      action,
      target: `${solution} ${user.username}`,
    }
    await audit.record({ ...act, outcome: 'ok', address: client.address, correlationId })
  }

  async function brandFor(ctx: Context, place: Place) {
    return brandOf((await loginPages.published(place)).design, place.solution, localeOf(ctx))
  }

  async function forgotBrand(ctx: Context, names: NamedSolution) {
    if (!parts.forgotAddress.isSigned(names, String(ctx.query.key ?? ''))) return null
    const organisation = await parts.organisations.find(names.organisation)
    return organisation && brandFor(ctx, { organisation: organisation.id, solution: names.solution })
  }

  async function showForgotOf(ctx: Context, state: 'ask' | 'asked' | number): Promise<void> {
    const text = textFor(ctx)
    const names = namesOf(ctx)
    const said = text('userlink.forgot.text', names.solution)
    const page = { said, label: text('userlink.forgot.who'), isOfAccount: false, done: text('userlink.forgot.asked') }
    showForgot(ctx, page, state, await forgotBrand(ctx, names))
  }

  async function showChoice(ctx: Context, token: string, found: FoundLink, refusal: string | null): Promise<void> {
    const { user, solution, kind } = found
    const text = textFor(ctx)
    const said = text('userlink.for', user.username, solution)
    const choice = { path: LINK_PATH, token, username: user.username, said, refusal }
    showPasswordChoice(ctx, text(`userlink.choose.${kind}`), choice, limits, await brandFor(ctx, found))
  }
}

type Fields = ReadonlyMap<string, string>

function showConfirm(ctx: Context, token: string, { user, solution }: FoundLink, brand: Brand): void {
  const model = { path: LINK_PATH, token, email: user.email, username: user.username, solution }
  sendPage(ctx, { template: 'user-link-confirm', heading: textFor(ctx)('userlink.confirm'), model, brand }, null)
}

function showDone(ctx: Context, key: string, { solution }: FoundLink, brand: Brand): void {
  const text = textFor(ctx)
  showSaid(ctx, text(key), { said: text(`${key}.text`, solution), isOfAccount: false }, 200, brand)
}

function showVoid(ctx: Context): void {
  showOver(ctx, { said: textFor(ctx)('userlink.over.text'), isOfAccount: false })
}

/**
 * Accepts any valid pair of names. Without a signature, the page is the same whether or not the solution exists.
 * @throws ERR_NOT_FOUND for invalid names
 */
function namesOf(ctx: Context): NamedSolution {
  const { organisation = '', solution = '' } = ctx.params as { organisation?: string; solution?: string }
  if (OrganisationName.safeParse(organisation).success && SolutionName.safeParse(solution).success) {
    return { organisation, solution }
  }
  throw new PlatformError(
    'ERR_NOT_FOUND',
    'This URL does not contain a valid organisation name and a valid solution name. Check the URL.',
  )
}
