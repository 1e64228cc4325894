import type { Context } from 'koa'
import { expect, test } from 'vitest'
import type { ActiveSolution } from '../../../base/bundles/active-solution.ts'
import type { LoginPage } from '../../../base/bundles/login-page.ts'
import { LOGIN_STATES } from '../../../base/bundles/login-states.ts'
import { createSites } from '../../../base/http/sites.ts'
import { createLoginPageSender } from '../../../host/login/login-page.ts'
import { koaContext } from '../../support/koa-context.ts'

const TITLE = 'platform.logindialog.title'

/** A page that shows a value from a script. */
const valueTemplate = {
  parts: [{ at: 'text', lookup: { from: 'json', name: 'greeting' } }, '<b>', { at: 'token' }, { at: 'failed' }],
  selects: [],
}

function solutionOf(title: string, changes: object = {}): ActiveSolution {
  const texts = { default: { [TITLE]: title }, nl: { [TITLE]: `${title} (nl)` } }
  const manifest = { authenticator: 'DEFAULT', loginSolution: null, loginForm: null }
  const loadable = { key: 'shop@the same for all' }
  return { name: 'shop', title, texts, template: null, manifest, loadable, ...changes } as never
}

function pageOf(changes: Partial<LoginPage> = {}): LoginPage {
  return { ...LOGIN_STATES.first, locale: 'en', values: {}, messages: new Map(), fields: new Map(), ...changes }
}

let requests = 0

function contextOf(): Context {
  const ctx = koaContext({ method: 'GET', url: '/solution/shop/index.html', headers: { host: 'localhost' } })
  const client = { address: '127.0.0.1', protocol: 'http', host: 'localhost' }
  ctx.state = { correlationId: `request ${++requests}`, client, site: null }
  return ctx
}

/** A sender whose parts can be changed between responses. */
function createSender() {
  const parts = { isMailSetUp: false, passkey: null as string | null, designed: null as object | null }
  const sites = createSites({ solutionOrigin: null, publicUrl: null, allowedHosts: [] }, () => 1)
  const send = createLoginPageSender({
    sites,
    formTokens: { issue: () => `token-${requests}` } as never,
    isTesting: false,
    passwordHelp: 'Ask Anna',
    mail: {
      get isSetUp() {
        return parts.isMailSetUp
      },
    },
    passkeyRequests: { askAnybody: async () => parts.passkey },
    cloudLogin: { pageOf: async () => parts.designed as never },
  })
  return { parts, send }
}

/** Sends a page, and returns it without the nonce and token, which must be those of this response. */
async function sent(
  { send }: ReturnType<typeof createSender>,
  solution: ActiveSolution,
  page: LoginPage,
): Promise<string> {
  const ctx = contextOf()
  await send(ctx, solution, page)
  const html = String(ctx.body)
  const nonce = /'nonce-([\w-]{24})'/.exec(String(ctx.res.getHeader('Content-Security-Policy')))?.[1] ?? 'none'
  expect(new Set([...html.matchAll(/nonce="([^"]*)"/g)].map(([, one]) => one))).toEqual(new Set([nonce]))
  expect(html).toContain(`name="csrf_token" value="token-${requests}"`)
  return html
    .replaceAll(nonce, 'NONCE')
    .replaceAll(`token-${requests}`, 'TOKEN')
    .replaceAll(`request ${requests}`, 'ID')
}

test('each response has its own page, whatever pages were sent before', async () => {
  const shared = createSender()
  const templateOf = (text: string) => ({ parts: [text, { at: 'token' }, { at: 'failed' }], selects: [] })
  const shop = solutionOf('Shop')
  const scripted = solutionOf('Shop', { template: valueTemplate })
  const pages: [string, ActiveSolution, LoginPage, Partial<(typeof shared)['parts']>][] = [
    ['first', shop, pageOf(), {}],
    ['in Dutch', shop, pageOf({ locale: 'nl' }), {}],
    ['refused', shop, pageOf(LOGIN_STATES.refused), {}],
    ['with only another status', shop, pageOf({ status: 503 }), {}],
    ['with a notice', shop, pageOf(LOGIN_STATES.passwordChanged), {}],
    ['failed with status 200', shop, pageOf({ failed: true }), {}],
    ['with a field', shop, pageOf({ fields: new Map([['username', 'anna']]) }), {}],
    ['with a message', shop, pageOf({ messages: new Map([[TITLE, 'Closed today']]) }), {}],
    ['with a link for new passwords', shop, pageOf(), { isMailSetUp: true }],
    ['with passkeys', shop, pageOf(), { passkey: '{"challenge":"1"}' }],
    ['with other passkeys', shop, pageOf(), { passkey: '{"challenge":"2"}' }],
    ['designed in the control center', shop, pageOf(), { designed: { template: templateOf('designed'), texts: {} } }],
    ['of a renewed version', solutionOf('Shop 2'), pageOf(), {}],
    ['of a version with a template', solutionOf('Shop', { template: templateOf('own') }), pageOf(), {}],
    ['of a script with values', scripted, pageOf({ values: { greeting: 'Hi' } }), {}],
    ['of a script without values', scripted, pageOf(), {}],
  ]
  const expected = new Map<string, string>()
  for (const [name, solution, page, changes] of pages) {
    const alone = createSender()
    Object.assign(alone.parts, changes)
    expected.set(name, await sent(alone, solution, page))
  }
  expect(new Set(expected.values()).size).toBe(pages.length)
  for (const order of [pages, pages.toReversed(), pages]) {
    for (const [name, solution, page, changes] of order) {
      Object.assign(shared.parts, { isMailSetUp: false, passkey: null, designed: null }, changes)
      expect([name, await sent(shared, solution, page)]).toEqual([name, expected.get(name)])
    }
  }
})
