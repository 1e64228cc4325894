import { randomBytes } from 'node:crypto'
import type { Context } from 'koa'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createFormTokens, type FormTokens } from '../../base/accounts/form-token.ts'
import { openPlatformKey } from '../../base/config/platform-key.ts'
import { openHostDatabase } from '../../host/database/open.ts'
import type { HostDatabase } from '../../host/database/tables.ts'
import { type ClientSignIns, createClientSignIns } from '../../host/login/sign-in-token.ts'
import { LEVELS } from '../../host/second-step/policy.ts'
import { addApp } from '../support/authenticator-app.ts'
import {
  ANNA,
  addCloudSolution,
  CLOUD_PASSWORD,
  startSatellite,
  startTestCloud,
  type TestCloud,
} from '../support/cloud.ts'
import { formWith } from '../support/forms.ts'
import { type Answer, createVisitor, type Visitor } from '../support/http.ts'
import { addSolutionOfProvider, comeTo } from '../support/oauth.ts'
import { type OidcProvider, startOidcProvider } from '../support/oidc-provider.ts'
import { addPasskey, createPasskeyDevice } from '../support/passkey-device.ts'
import { addAuthenticatorSolution, addDefaultSolution, addUser, askAdmin, PASSWORD, visit } from '../support/users.ts'
import { moduleFile } from '../support/zip.ts'

// Signs in over HTTP in each mode, with each policy and each combination of factors.
// test/host/second-step/policy.test.ts covers all methods.

const KEY = 'a key that the table and its host know'
const FACTORS = ['none', 'app', 'passkey', 'both'] as const
type FactorState = (typeof FACTORS)[number]

/**
 * The expected step after the first one, for each combination of factors. Each row has one entry per level, in the
 * order of `LEVELS`.
 */
const TABLE: Readonly<Record<FactorState, readonly Step[]>> = {
  none: ['done', 'done', 'set-up', 'set-up'],
  app: ['done', 'second-step', 'second-step', 'second-step'],
  passkey: ['done', 'second-step', 'second-step', 'second-step'],
  both: ['done', 'second-step', 'second-step', 'second-step'],
}
type Step = 'done' | 'second-step' | 'set-up'

let cloud: TestCloud
let provider: OidcProvider
let host: Awaited<ReturnType<typeof startSatellite>>
let db: HostDatabase
let signIns: ClientSignIns
let formTokens: FormTokens
beforeAll(async () => {
  cloud = await startTestCloud()
  provider = await startOidcProvider()
  const properties = { HOST: 'localhost', PLATFORM_KEY: KEY, OAUTH_ALLOWED_HOSTS: provider.hostPort }
  host = await startSatellite(cloud, properties)
  db = await openHostDatabase(host.home)
  const key = await openPlatformKey(db, host.home, KEY)
  signIns = createClientSignIns(db, key)
  formTokens = createFormTokens(key)
  for (const mode of Object.values(MODES)) await mode.add()
  for (const factors of FACTORS) {
    for (const mode of Object.values(MODES)) {
      if (mode.canAddFactors) await addFactors(mode, factors)
    }
  }
}, 120_000)
afterAll(async () => {
  await db?.destroy()
  await host?.stop()
  await provider?.stop()
  await cloud?.stop()
})

type First = { readonly answer: Answer; readonly visitor: Visitor }
type Mode = {
  readonly solution: string
  /** Uploads the solution. */
  readonly add: () => Promise<void>
  /** Performs the first step of a sign-in as a user with these factors. */
  readonly first: (factors: FactorState) => Promise<First>
  /** False if sessions have no account page. */
  readonly canAddFactors: boolean
}

/** A script that signs in anyone by name. */
const BY_NAME = `function onSolutionOpen(arg, q) { if (q.username) security.login(q.username, 'u-' + q.username, ['Users']) }`

const MODES: Readonly<Record<string, Mode>> = {
  DEFAULT: {
    ...byPassword('table-default', (factors) => `table-${factors}`),
    async add() {
      await addDefaultSolution(host, 'table-default')
      for (const factors of FACTORS) await addUser(host, `table-${factors}`)
    },
  },
  AUTHENTICATOR: {
    ...byPassword('table-script', (factors) => factors),
    add: () => addAuthenticatorSolution(host, 'table-script', BY_NAME),
  },
  loginSolution: {
    ...byPassword('table-older', (factors) => factors),
    add: () =>
      addDefaultSolution(
        host,
        'table-older',
        { authenticator: undefined, mustAuthenticate: true, loginSolution: 'door', modules: ['door'] },
        { ...moduleFile('door', { type: 'module' }), 'modules/door/globals.js': BY_NAME },
      ),
  },
  loginForm: {
    solution: 'table-form',
    canAddFactors: true,
    add: () =>
      addDefaultSolution(
        host,
        'table-form',
        { loginForm: 'login', permissions: ['Users'] },
        { 'forms/login.json': JSON.stringify(formWith()) },
      ),
    first: byLoginForm,
  },
  OAUTH: byProvider('table-oauth', {}),
  OAUTH_AUTHENTICATOR: byProvider('table-provider', { authenticator: 'OAUTH_AUTHENTICATOR', oauth: undefined }),
  PLATFORM_CLOUD: {
    ...byPassword('harbour', (factors) => factors, CLOUD_PASSWORD),
    async add() {
      await addCloudSolution(host)
      cloud.answer((asked) => {
        const username = 'uid' in asked ? asked.uid.slice(2) : asked.username
        return { ...ANNA, uid: `c-${username}`, username }
      })
    },
  },
  'login token': {
    solution: 'table-default',
    canAddFactors: false,
    add: async () => {},
    // The host doesn't ask these users for their second factors, because it trusts the issuer of the login token.
    async first(factors) {
      const { items } = await askAdmin(host, 'GET', `users?search=table-${factors}`)
      const { uid } = (items as [{ uid: string }])[0]
      const login = { username: `table-${factors}`, uid, permissions: ['Users'] }
      const { token } = await askAdmin(host, 'POST', 'solutions/table-default/login-tokens', login)
      const visitor = await visit(host, 'table-default')
      return { visitor, answer: await visitor.post(visitor.page, { id_token: token as string }) }
    },
  },
}

function byPassword(solution: string, nameOf: (factors: FactorState) => string, password = PASSWORD) {
  return {
    solution,
    canAddFactors: true,
    async first(factors: FactorState) {
      const visitor = await visit(host, solution)
      return { visitor, answer: await visitor.signIn(nameOf(factors), password) }
    },
  }
}

/** Posts the token that a client gets after the login form's script signed a user in. */
async function byLoginForm(factors: FactorState): Promise<First> {
  const solution = 'table-form'
  const visitor = createVisitor(host.url)
  const value = randomBytes(24).toString('base64url')
  visitor.cookies.set(`login-${solution}`, { value, path: `/solution/${solution}/` })
  const scope = { realm: solution, secure: false, ownHost: false }
  const ctx = { get: () => `login-${solution}=${value}` } as unknown as Context
  const page = `/solution/${solution}/index.html`
  const signIn = {
    login: { username: factors, uid: `f-${factors}`, permissions: ['Users'] },
    solution,
    browser: formTokens.browserOf(ctx, scope) ?? '',
    tenant: null,
    locale: 'en',
    page,
    showUrl: null,
    authenticated: null,
    needsSecondFactor: false,
  }
  const token = formTokens.issue(ctx, scope)
  return { visitor, answer: await visitor.post(page, { id_token: signIns.issue(signIn) }, { token }) }
}

function byProvider(solution: string, manifest: Record<string, unknown>): Mode {
  return {
    solution,
    canAddFactors: true,
    add() {
      const settings = { api: 'Custom', issuer: provider.issuer, clientId: solution, apiSecret: '%%CLIENT%%' }
      const script = `function getOAuthConfig() { return ${JSON.stringify(settings)} }
        function onSolutionOpen(arg, q) { security.login(q.user, 'o-' + q.user, ['Users']) }`
      return addSolutionOfProvider(host, provider, { name: solution, script, manifest })
    },
    async first(factors) {
      const browser = comeTo(host, solution)
      const answer = await browser.signIn({}, `?user=${factors}`)
      const visitor = createVisitor(host.url)
      for (const [name, value] of browser.person.cookies(host.url)) visitor.cookies.set(name, { value, path: '/' })
      return { visitor, answer }
    },
  }
}

/** Adds the factors on the account page, before a policy is set. */
async function addFactors({ solution, first }: Mode, factors: FactorState): Promise<void> {
  await askAdmin(host, 'PUT', `solutions/${solution}/sign-in-policy`, { level: 'off' })
  const { visitor, answer } = await first(factors)
  expect([solution, factors, answer.status < 400]).toEqual([solution, factors, true])
  if (factors === 'app' || factors === 'both') await addApp(visitor, solution)
  if (factors === 'passkey' || factors === 'both') {
    const { added } = await addPasskey(visitor, solution, createPasskeyDevice(host.url))
    expect([solution, factors, added.status < 400]).toEqual([solution, factors, true])
  }
}

async function stepAfter({ solution, first }: Mode, factors: FactorState) {
  const { answer, visitor } = await first(factors)
  const path = `/solution/${solution}`
  const { pathname } = new URL(answer.headers.location ?? '', host.url)
  const step = { [`${path}/second-step`]: 'second-step', [`${path}/set-up`]: 'set-up' }[pathname] ?? 'done'
  const session = (await visitor.get(`${path}/session`)).status
  const account = (await visitor.get(`${path}/account`)).status
  return { status: Math.floor(answer.status / 100), step, session, account }
}

describe.each(LEVELS.map((level, at) => ({ level, at })))('at the level $level', ({ level, at }) => {
  beforeAll(async () => {
    for (const { solution } of Object.values(MODES)) {
      await askAdmin(host, 'PUT', `solutions/${solution}/sign-in-policy`, { level })
    }
  })

  const rows = Object.keys(MODES).flatMap((mode) =>
    FACTORS.map((factors) => ({ mode, factors, step: mode === 'login token' ? 'done' : TABLE[factors][at] })),
  )
  test.each(rows)(
    '$mode, with factors $factors: the step after the first one is $step',
    async ({ mode, factors, step }) => {
      const way = MODES[mode] as Mode
      const [session, account] = step !== 'done' ? [401, 303] : [200, way.canAddFactors ? 200 : 404]
      expect(await stepAfter(way, factors)).toEqual({ status: 3, step, session, account })
    },
  )
})
