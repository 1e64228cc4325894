import type Router from '@koa/router'
import type { Context } from 'koa'
import { requireNavigation, sourceOfPost } from '../../host/http/fetch-metadata.ts'
import { readForm } from '../../host/http/read-body.ts'
import { stateOf } from '../../host/http/request.ts'
import type { Throttle } from '../../host/login/throttle.ts'
import type { Users } from '../../host/users/users.ts'
import { PlatformError } from '../../runtime/errors.ts'
import type { Limits } from '../../runtime/limits.ts'
import type { Activity } from '../access/activity.ts'
import { type BrowserSessions, originOf } from '../access/browser-sessions.ts'
import { OrganisationName, type Organisations } from '../organisations/organisations.ts'
import { sendPage, textFor } from '../pages/page.ts'
import type { SetUp } from './set-up.ts'

export type AccountPageParts = {
  readonly users: Users
  readonly organisations: Organisations
  readonly browserSessions: BrowserSessions
  readonly throttle: Throttle
  readonly activity: Activity
  readonly setUp: SetUp
  readonly limits: Limits
}

/** The pages that answer who is not signed in. Accounts are the host's users, whose user name is their mail address. */
export function addAccountPages(router: Router, parts: AccountPageParts): void {
  const { users, browserSessions, throttle, activity, setUp, organisations, limits } = parts

  async function note(ctx: Context, username: string, action: string, outcome: string): Promise<void> {
    const { client, correlationId } = stateOf(ctx)
    const act = { organisation: '', actor: `user:${username}`, action, subject: '', outcome }
    await activity.record({ ...act, address: client.address, correlationId })
  }

  router.get('/sign-in', async (ctx) => {
    requireNavigation(ctx)
    if (await setUp.isOpen()) return goTo(ctx, '/set-up')
    showSignIn(ctx, { to: pageToGoTo(String(ctx.query.to ?? '')), username: '', refusal: null })
  })

  router.post('/sign-in', async (ctx) => {
    requireOwnForm(ctx)
    const fields = await readForm(ctx, limits)
    const [username, password] = [fields.get('username') ?? '', fields.get('password') ?? '']
    const to = pageToGoTo(fields.get('to') ?? '')
    const text = textFor(ctx)
    const attempt = { source: 'center', username, address: stateOf(ctx).client.address }
    const wait = await throttle.count(attempt, false)
    if (wait !== null) {
      ctx.set('Retry-After', String(wait))
      await note(ctx, username, 'sign-in', 'throttled')
      const refusal = text('admin.signin.throttled', Math.ceil(wait / 60))
      return showSignIn(ctx, { to, username, refusal }, 429)
    }
    const user = await users.authenticate(username, password)
    if (user === null) {
      await note(ctx, username, 'sign-in', 'refused')
      return showSignIn(ctx, { to, username, refusal: text('center.signin.refused') }, 401)
    }
    await throttle.succeeded(attempt, false)
    await browserSessions.end(ctx)
    await browserSessions.start(ctx, user)
    await note(ctx, user.username, 'sign-in', 'ok')
    goTo(ctx, to)
  })

  router.post('/sign-out', async (ctx) => {
    requireOwnForm(ctx)
    const found = await browserSessions.find(ctx)
    const token = (await readForm(ctx, limits)).get('csrf_token') ?? ''
    if (found !== null && browserSessions.isCsrfToken(found.cookie, token)) {
      await browserSessions.end(ctx)
      await note(ctx, found.session.username, 'sign-out', 'ok')
    }
    goTo(ctx, '/sign-in')
  })

  router.get('/set-up', async (ctx) => {
    requireNavigation(ctx)
    if (!(await setUp.isOpen())) return goTo(ctx, '/sign-in')
    showSetUp(ctx, { values: {}, refusal: null })
  })

  router.post('/set-up', async (ctx) => {
    requireOwnForm(ctx)
    const fields = await readForm(ctx, limits)
    const field = (name: string) => (fields.get(name) ?? '').trim()
    const values = { organisation: field('organisation'), title: field('title'), username: field('username') }
    const text = textFor(ctx)
    const refuse = (refusal: string) => showSetUp(ctx, { values, refusal }, 422)
    if (!(await setUp.isOpen())) return goTo(ctx, '/sign-in')
    const wait = await throttle.count({ source: 'set-up', username: '', address: stateOf(ctx).client.address }, false)
    if (wait !== null) return refuse(text('admin.signin.throttled', Math.ceil(wait / 60)))
    if (!setUp.isCode(field('code'))) return refuse(text('center.setup.wrong'))
    const name = OrganisationName.safeParse(values.organisation)
    if (!name.success) return refuse(text('center.setup.name.wrong'))
    try {
      const user = await users.create({
        username: values.username,
        email: values.username,
        password: fields.get('password') ?? '',
        mustChangePassword: false,
      })
      await organisations.create({ name: name.data, title: values.title || name.data }, user.uid)
      setUp.close()
      await browserSessions.start(ctx, user)
      await note(ctx, user.username, 'set-up', 'ok')
      goTo(ctx, '/')
    } catch (error) {
      if (!(error instanceof PlatformError) || error.status >= 500) throw error
      const { faults } = error.details as { faults?: readonly { readonly message: string }[] }
      refuse(faults?.map(({ message }) => message).join(' ') ?? error.message)
    }
  })
}

type SignInModel = { readonly to: string; readonly username: string; readonly refusal: string | null }

function showSignIn(ctx: Context, model: SignInModel, status = 200): void {
  sendPage(ctx, { template: 'sign-in', heading: textFor(ctx)('admin.signin.title'), model, status }, null)
}

type SetUpModel = { readonly values: Readonly<Record<string, string>>; readonly refusal: string | null }

function showSetUp(ctx: Context, model: SetUpModel, status = 200): void {
  sendPage(ctx, { template: 'set-up', heading: textFor(ctx)('center.setup.title'), model, status }, null)
}

/** Browsers say with every POST where it comes from; who says nothing is no browser, and has the API. */
function requireOwnForm(ctx: Context): void {
  requireNavigation(ctx)
  if (sourceOfPost(ctx, originOf(ctx)) === 'same-origin') return
  throw new PlatformError('ERR_FOREIGN_ORIGIN', 'The form was not sent by a page of the control center.')
}

/** Nothing but a page of the control center, however it is spelled. */
function pageToGoTo(asked: string): string {
  const address = URL.parse(asked, 'http://center.invalid')
  const isOurs = address?.host === 'center.invalid' && !address.pathname.startsWith('/sign-')
  return isOurs ? `${address.pathname}${address.search}` : '/'
}

function goTo(ctx: Context, path: string): void {
  ctx.status = 303
  ctx.set('Location', path)
}
