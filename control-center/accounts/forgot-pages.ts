import type Router from '@koa/router'
import type { Context } from 'koa'
import type { Throttle } from '../../base/accounts/throttle.ts'
import type { ServiceSettings } from '../../base/config/service-settings.ts'
import { requireNavigation } from '../../base/http/fetch-metadata.ts'
import { goTo } from '../../base/http/go-to.ts'
import { readForm } from '../../base/http/read-body.ts'
import { stateOf } from '../../base/http/request.ts'
import type { Mail } from '../../base/mail/mail.ts'
import type { Limits } from '../../runtime/limits.ts'
import { publicOriginOf } from '../access/page-sessions.ts'
import { localeOf, textFor } from '../pages/page.ts'
import type { Credentials } from './credentials.ts'
import { type ForgottenPasswords, NEW_PASSWORD_PATH } from './forgotten-passwords.ts'
import { countForgot, findLink, showForgot, showOpened, showOver, showPasswordChoice, showSaid } from './link-pages.ts'
import { requireOwnForm } from './own-form.ts'
import type { LinkedAccount, PasswordLinks } from './password-links.ts'

export type ForgotPageParts = {
  readonly forgottenPasswords: ForgottenPasswords
  readonly passwordLinks: PasswordLinks
  readonly credentials: Credentials
  readonly throttle: Throttle
  readonly mail: Pick<Mail, 'isSetUp'>
  readonly settings: Pick<ServiceSettings, 'publicUrl'>
  readonly limits: Limits
}

/** Maximum length of an entered email address or username. Accounts' names aren't longer. */
const LONGEST_ASKED = 254

/**
 * Pages for users who forgot the password of their account. There is no API for this: users who can't sign in have no
 * token, and they open the emailed link in a browser anyway.
 */
export function addForgotPages(router: Router, parts: ForgotPageParts): void {
  const { forgottenPasswords, passwordLinks, credentials, throttle, mail, limits } = parts

  router.get('/forgot-password', (ctx) => {
    requireNavigation(ctx)
    show(ctx, 'ask')
  })

  router.post('/forgot-password', async (ctx) => {
    requireOwnForm(ctx)
    const asked = ((await readForm(ctx, limits)).get('username') ?? '').trim()
    if (!mail.isSetUp) return show(ctx, 'ask')
    const wait = await countForgot(ctx, throttle, 'forgot center', asked, credentials.isKnown(ctx, asked))
    if (wait !== null) {
      await credentials.note(ctx, asked, 'password-forgotten', 'throttled')
      return show(ctx, wait)
    }
    if (asked !== '' && asked.length <= LONGEST_ASKED) take(ctx, asked)
    show(ctx, 'asked')
  })

  function take(ctx: Context, asked: string): void {
    const { client, correlationId } = stateOf(ctx)
    const origin = publicOriginOf(ctx, parts.settings)
    forgottenPasswords.take({ asked, origin, locale: localeOf(ctx), address: client.address, correlationId })
  }

  router.get(NEW_PASSWORD_PATH, (ctx) => {
    requireNavigation(ctx)
    const text = textFor(ctx)
    showOpened(ctx, NEW_PASSWORD_PATH, text('userlink.choose.reset'), text('center.newpassword.open'))
  })

  router.post(NEW_PASSWORD_PATH, async (ctx) => {
    requireOwnForm(ctx)
    const fields = await readForm(ctx, limits)
    const token = fields.get('token') ?? ''
    const found = await findLink(ctx, throttle, () => passwordLinks.find(token))
    if (found === null) return showVoid(ctx)
    if (!fields.has('new')) return showChoice(ctx, token, found, null)
    await choose(ctx, token, found, fields)
  })

  /** Sets the new password without signing the user in. Only the sign-in page counts and records sign-in attempts. */
  async function choose(
    ctx: Context,
    token: string,
    found: LinkedAccount,
    fields: ReadonlyMap<string, string>,
  ): Promise<void> {
    const text = textFor(ctx)
    const wanted = fields.get('new') ?? ''
    if (wanted !== fields.get('repeat')) return showChoice(ctx, token, found, text('platform.password.differ'))
    const fault = await passwordLinks.choosePassword(token, wanted)
    if (fault === 'over') return showVoid(ctx)
    await credentials.note(ctx, found.username, 'password-reset', fault === null ? 'ok' : 'refused')
    if (fault !== null) return showChoice(ctx, token, found, text(fault.key, ...fault.values))
    goTo(ctx, '/sign-in?password-changed')
  }

  function showChoice(ctx: Context, token: string, { username }: LinkedAccount, refusal: string | null): void {
    const text = textFor(ctx)
    const said = text('center.newpassword.for', username)
    const choice = { path: NEW_PASSWORD_PATH, token, username, said, refusal }
    showPasswordChoice(ctx, text('userlink.choose.reset'), choice, limits)
  }

  function show(ctx: Context, state: 'ask' | 'asked' | number): void {
    const text = textFor(ctx)
    if (mail.isSetUp) {
      const said = text('center.forgot.text')
      const page = { said, label: text('center.mail'), isOfAccount: true, done: text('center.forgot.asked') }
      showForgot(ctx, page, state)
    } else {
      showSaid(ctx, text('userlink.forgot'), { said: text('center.forgot.nomail'), isOfAccount: true })
    }
  }
}

function showVoid(ctx: Context): void {
  showOver(ctx, { said: textFor(ctx)('center.newpassword.over'), isOfAccount: true })
}
