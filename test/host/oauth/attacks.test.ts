import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { noEffects } from '../../../base/bundles/host-call.ts'
import type { AuthenticatorQuestion } from '../../../host/login/ask-authenticator.ts'
import type { WrittenOAuthSettings } from '../../../host/oauth/oauth-settings.ts'
import { CLIENT_SECRET } from '../../support/client-secret.ts'
import {
  createPlayedProvider,
  json,
  type Play,
  type PlayedProvider,
  type Stage,
} from '../../support/misbehaving-provider.ts'
import { comeTo, textOf, type Visitor } from '../../support/oauth.ts'
import { byVerifiedEmail, createOAuthInMemory, type OAuthInMemory } from '../../support/oauth-in-memory.ts'
import { createPerson, type Page } from '../../support/person.ts'
import { createPlayedInMemory } from '../../support/played-in-memory.ts'
import type { PlayedSignIns } from '../../support/played-sign-ins.ts'

type Params = Readonly<Record<string, unknown>>
type Added = {
  readonly settings: WrittenOAuthSettings | ((params: Params) => WrittenOAuthSettings)
  readonly onSolutionOpen: AuthenticatorQuestion
}

let provider: PlayedProvider
let host: OAuthInMemory
const solutions = new Map<string, Added>()
/** The calls to authenticators, oldest first. */
const asked: { readonly solution: string; readonly lastLogin: Record<string, unknown> }[] = []

/**
 * An attacker's server. Hosts may connect to it: if connections were blocked, these tests would pass even if a host
 * leaked secrets.
 */
const thief = {
  hostPort: '127.0.0.1:3',
  base: 'http://127.0.0.1:3',
  /** The requests that the attacker's server received. */
  got: [] as string[],
  /** If set, responses wait for this promise. */
  hold: null as Promise<void> | null,
}

beforeAll(async () => {
  provider = createPlayedProvider('127.0.0.1:2')
  host = await createOAuthInMemory(
    provider,
    (solution, params) => {
      const { settings } = solutions.get(solution) as Added
      return typeof settings === 'function' ? settings(params) : settings
    },
    {
      others: {
        async [thief.hostPort]({ method, url, headers, body }) {
          thief.got.push(`${method} ${url.pathname} ${headers.authorization ?? ''} ${body}`)
          await thief.hold
          return json({ id: 1, sub: 'sub-of-anna', email: 'anna@example.org', email_verified: true })
        },
      },
      writtenOf(solution) {
        const { settings } = solutions.get(solution) as Added
        return typeof settings === 'function' ? null : settings
      },
      onSolutionOpen: (asking, params, fields) => {
        asked.push({ solution: asking.solution.name, lastLogin: params.last_login as Record<string, unknown> })
        const { onSolutionOpen = byVerifiedEmail } = solutions.get(asking.solution.name) ?? {}
        return onSolutionOpen(asking, params, fields)
      },
    },
  )
})
afterAll(() => host.stop())

/** Adds a solution with its own simulated provider, and with an operator's secret for the provider's host. */
async function addSolution(
  name: string,
  {
    play = {},
    oauth = {},
    onSolutionOpen = byVerifiedEmail,
  }: { play?: Play; oauth?: Record<string, string>; onSolutionOpen?: AuthenticatorQuestion } = {},
): Promise<Stage> {
  const stage = provider.play(play)
  const settings = { api: 'Custom' as const, issuer: stage.issuer, clientId: 'one', apiSecret: '%%CLIENT%%', ...oauth }
  solutions.set(name, { settings, onSolutionOpen })
  await host.setSecret(name, [provider.hostPort])
  return stage
}

const comeIn = (name: string) => comeTo(host, name, createPerson({}, host.ask))

/** Starts a sign-in at the provider, which responds immediately. @returns the URL that the provider redirects to */
async function goToProvider(visitor: Visitor, query = ''): Promise<string> {
  const { answer, location } = await visitor.start(query)
  if (answer.status !== 302) throw new Error(`the page answered ${answer.status}: ${textOf(answer.text)}`)
  const sent = await visitor.person.open(location, { from: visitor.base })
  return sent.headers.location ?? ''
}

async function signIn(visitor: Visitor, query = ''): Promise<Page> {
  return visitor.person.open(await goToProvider(visitor, query), { from: provider.base })
}

/** Expects an error page with a reference, and no session. */
async function expectRefused(visitor: Visitor, page: Page, status: number): Promise<void> {
  expect([page.status, textOf(page.text)]).toEqual([status, expect.stringContaining('Reference')])
  expect((await visitor.session()).status).toBe(401)
}

const without =
  (...names: string[]): NonNullable<Play['claims']> =>
  (claims) =>
    Object.fromEntries(Object.entries(claims).filter(([name]) => !names.includes(name)))

describe('a secret that the operator set', () => {
  test('the operator’s secret is not sent to a token endpoint on another port in the discovery document, and neither is a code', async () => {
    const discovery: Play['discovery'] = (document) => json({ ...document, token_endpoint: `${thief.base}/token` })
    await addSolution('other-port', { play: { discovery } })
    const anna = comeIn('other-port')
    await expectRefused(anna, (await anna.start()).answer, 503)
    expect(thief.got).toEqual([])
  })

  test('the operator’s secret is not sent to a token endpoint that appears in the discovery document while the user is at the provider', async () => {
    const stage = await addSolution('while-away')
    const anna = comeIn('while-away')
    const back = await goToProvider(anna)
    stage.change({ discovery: (document) => json({ ...document, token_endpoint: `${thief.base}/token` }) })
    expect((await anna.person.open(back, { from: provider.base })).status).toBe(303)
    expect(thief.got).toEqual([])
  })

  test('the operator’s secret is not sent if it is removed while the user is at the provider, and neither is a code', async () => {
    const stage = await addSolution('taken-back')
    const anna = comeIn('taken-back')
    const back = await goToProvider(anna)
    await host.setSecret('taken-back', ['id.example.org'])
    await expectRefused(anna, await anna.person.open(back, { from: provider.base }), 503)
    expect(stage.requests.map(({ path }) => path)).not.toContain('/token')
  })

  test('the operator’s secret is not sent for another solution that uses the secret’s name', async () => {
    await addSolution('owner')
    solutions.set('not-owner', solutions.get('owner') as Added)
    const anna = comeIn('not-owner')
    await expectRefused(anna, (await anna.start()).answer, 503)
  })

  test('with an operator’s secret, access tokens are not sent to the author’s UserInfo endpoint until the operator lists its host', async () => {
    const oauth = { userInfoEndpoint: `${thief.base}/me` }
    await addSolution('token-thief', { oauth, play: { claims: without('email', 'email_verified', 'name') } })
    const anna = comeIn('token-thief')
    await expectRefused(anna, (await anna.start()).answer, 503)
    expect(thief.got).toEqual([])
    await host.setSecret('token-thief', [provider.hostPort, thief.hostPort])
    expect((await signIn(anna)).status).toBe(303)
    expect(thief.got.splice(0)).toEqual([expect.stringMatching(/^GET \/me Bearer \S+ $/)])
  })
})

describe('a malicious author', () => {
  /** Different spellings of hosts that solutions must not connect to. A server listens on `PORT` on loopback. */
  const INTERNAL = [
    'https://127.0.0.1:PORT',
    'https://localhost:PORT',
    'https://localhost.:PORT',
    'https://127.1:PORT',
    'https://2130706433:PORT',
    'https://0x7f.0.0.1:PORT',
    'https://017700000001:PORT',
    'https://0.0.0.0:PORT',
    'https://[::]:PORT',
    'https://[::1]:PORT',
    'https://[::ffff:127.0.0.1]:PORT',
    'https://[::ffff:7f00:1]:PORT',
    'https://[64:ff9b::7f00:1]:PORT',
    'https://①②⑦.⓪.⓪.①:PORT',
    'https://127。0。0。1:PORT',
    'https://example.org@127.0.0.1:PORT',
    'https://127.0.0.1:PORT\\@example.org',
    'https://example.org\t@127.0.0.1:PORT',
    'http://127.0.0.1:PORT',
    'http://169.254.169.254',
    'https://169.254.169.254',
    'file:///etc/passwd',
    'javascript:alert(1)',
    'data:application/json,{}',
  ]

  test('an author cannot make the host connect to internal hosts, however they are written, in the settings or in a discovery document', async () => {
    const at = (address: string) => address.replace('PORT', '4')
    solutions.set('inside', {
      settings: ({ issuer, more }) => ({
        api: 'Custom',
        clientId: 'one',
        issuer: String(issuer),
        ...JSON.parse(String(more)),
      }),
      onSolutionOpen: byVerifiedEmail,
    })
    const tryWith = async (issuer: string, more: object) => {
      const query = new URLSearchParams({ issuer, more: JSON.stringify(more) })
      const anna = comeIn('inside')
      const { answer, location } = await anna.start(`?${query}`)
      const problem = `${JSON.stringify(more)} at ${issuer} was answered ${answer.status} ${location}`
      // URLs that only the host requests are checked after the browser returns from the provider, so finish the
      // sign-in.
      const page = answer.status === 302 ? await signIn(anna, `?${query}`) : answer
      expect([403, 502, 503], problem).toContain(page.status)
    }
    const { issuer } = provider.play()
    for (const address of INTERNAL) {
      await tryWith(at(address), {})
      for (const name of ['authorizationBaseUrl', 'accessTokenEndpoint', 'jwks_uri']) {
        // The host redirects browsers to any https URL, but does not request it itself.
        if (name === 'authorizationBaseUrl' && URL.parse(at(address))?.protocol === 'https:') continue
        await tryWith(issuer, { [name]: at(address) })
      }
      const named = { token_endpoint: at(address), jwks_uri: at(address), userinfo_endpoint: at(address) }
      await tryWith(provider.play({ discovery: (sound) => json({ ...sound, ...named }) }).issuer, {})
    }
    expect(host.reached).toEqual([])
  })

  test('an author cannot use the provider’s URL to redirect a browser to another scheme or host, or to add a header line', async () => {
    solutions.set('leads', {
      settings: ({ to }) => ({
        api: 'Custom',
        clientId: 'one',
        issuer: 'https://id.example.org',
        authorizationBaseUrl: String(to),
        accessTokenEndpoint: 'https://id.example.org/t',
        jwks_uri: 'https://id.example.org/k',
      }),
      onSolutionOpen: byVerifiedEmail,
    })
    const lead = async (to: string) =>
      (await comeIn('leads').start(`?to=${encodeURIComponent(to)}`)).answer.headers.location
    for (const to of [
      'javascript:alert(1)//',
      'data:text/html,x',
      'file:///etc/passwd',
      '//evil.example/',
      '/solution/leads/media/x',
      'https:evil.example',
      'https:/evil.example',
      'https:\\\\evil.example',
      'https://good.example@evil.example/',
      'https://good.example:x@evil.example/',
      'https://id.example.org/#x',
      'http://evil.example/',
      'mailto:x@example.org',
      'https://',
      'https://\u0000evil.example/',
    ]) {
      expect([to, await lead(to)]).toEqual([to, undefined])
    }
    // A URL that browsers parse differently from how people read it is normalised or rejected.
    for (const to of ['https://good.example\\@evil.example/', 'https://good.example/\r\nSet-Cookie: a=b']) {
      const location = (await lead(to)) ?? 'https://good.example/'
      expect([to, new URL(location).host, /[\\\s]/.test(location)]).toEqual([to, 'good.example', false])
    }
  })
})

describe('a malicious provider', () => {
  const THIN = without('email', 'email_verified', 'name')
  const user = '"sub":"sub-of-anna","email":"anna@example.org","email_verified":true'

  test.each([
    ['__proto__', `{${user},"__proto__":{"isAdmin":true}}`],
    ['a deep __proto__', `{${user},"address":{"__proto__":{"isAdmin":true}}}`],
    ['constructor', `{${user},"constructor":{"prototype":{"isAdmin":true}}}`],
    ['3,000 levels', `{${user},"x":${'['.repeat(3000)}${']'.repeat(3000)}}`],
    ['100,000 levels', `{${user},"x":${'['.repeat(100_000)}${']'.repeat(100_000)}}`],
    ['40 kB of claims', `{${user},"x":"${'x'.repeat(40_000)}"}`],
  ])('a provider cannot pass %s in user info to scripts', async (what, body) => {
    const name = `info-${what
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, '-')
      .replace(/^-|-$/g, '')}`
    const reply = { status: 200, type: 'application/json', body }
    await addSolution(name, { play: { claims: THIN, userInfo: () => reply } })
    const anna = comeIn(name)
    await expectRefused(anna, await signIn(anna), 502)
    expect(asked.filter(({ solution }) => solution === name)).toEqual([])
  })

  test('a provider cannot set uid, permissions and last_login of an earlier sign-in, which the platform sets', async () => {
    const forged = { uid: 'root', permissions: ['Admins'], last_login: 'now', username: 'root' }
    await addSolution('spoofed', { play: { claims: (sound) => ({ ...sound, ...forged }) } })
    expect((await signIn(comeIn('spoofed'))).status).toBe(303)
    const { lastLogin = {} } = asked.find(({ solution }) => solution === 'spoofed') ?? {}
    const { isAdmin, uid, permissions, last_login } = lastLogin
    expect([isAdmin, uid, permissions, typeof last_login]).toEqual([undefined, undefined, undefined, 'number'])
  })

  test('a provider cannot put markup into pages with claims or errors', async () => {
    const markup = '"><img src=x onerror=alert(1)><script>alert(1)</script>'
    const refuse: AuthenticatorQuestion = async () => ({ kind: 'refused', effects: noEffects(), values: {} })
    const claims: Play['claims'] = (sound) => ({ ...sound, email: markup, name: markup })
    await addSolution('markup', { onSolutionOpen: refuse, play: { claims } })
    const page = await signIn(comeIn('markup'))
    expect([page.status, page.text.includes('&lt;img src=x')]).toEqual([403, true])
    const authorization: Play['authorization'] = (parameters) => [
      ['error', markup],
      ['error_description', markup],
      ...parameters.filter(([name]) => name !== 'code'),
    ]
    await addSolution('markup-error', { play: { authorization } })
    const error = await signIn(comeIn('markup-error'))
    expect(error.status).toBe(503)
    for (const { text, headers } of [page, error]) {
      expect(text).not.toContain('<img')
      expect(text).not.toContain('alert(1)</script>')
      expect(headers['content-security-policy']).toMatch(/script-src 'nonce-[^']+' 'strict-dynamic'/)
    }
  })

  test('a provider cannot forge a log line: its texts are quoted and invisible characters are escaped', async () => {
    const said = 'x\u009b31m\u001b[31m\u202e\u2028\r\n{"level":60}'
    const authorization: Play['authorization'] = (parameters) => [
      ['error', said],
      ...parameters.filter(([name]) => name !== 'code'),
    ]
    await addSolution('forged-line', { play: { authorization } })
    await signIn(comeIn('forged-line'))
    const [line] = host.linesOf('forged-line')
    expect(line?.message).toMatch(/^[\x20-\x7e]+"x\\u\{9b\}31m\\u001b\[31m\\u\{202e\}\\u\{2028\}\\r\\n/)
  })

  test('a provider cannot fill the database with huge refresh tokens', async () => {
    const tokenEndpoint: Play['tokenEndpoint'] = (sound) => json({ ...sound, refresh_token: 'r'.repeat(100_000) })
    await addSolution('huge-token', { play: { tokenEndpoint } })
    const anna = comeIn('huge-token')
    await expectRefused(anna, await signIn(anna), 502)
  })
})

test('a provider can sign a user out during the redirect back: no session starts', async () => {
  const stage = await addSolution('overtaken', {
    oauth: { userInfoEndpoint: `${thief.base}/me` },
    play: { claims: without('email', 'email_verified', 'name') },
  })
  await host.setSecret('overtaken', [provider.hostPort, thief.hostPort])
  const anna = comeIn('overtaken')
  const back = await goToProvider(anna)
  const { promise, resolve } = Promise.withResolvers<void>()
  thief.hold = promise
  try {
    const returned = anna.person.open(back, { from: provider.base })
    await expect.poll(() => thief.got.length).toBe(1)
    const { status } = await host.ask(`${anna.base}/backchannel-logout`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ logout_token: stage.logoutToken() }).toString(),
    })
    expect(status).toBe(200)
    resolve()
    await expectRefused(anna, await returned, 400)
    expect([anna.cookie('session'), anna.cookie('remember')]).toEqual([undefined, undefined])
  } finally {
    resolve()
    thief.hold = null
    thief.got.splice(0)
  }
})

describe('a malicious browser', () => {
  test('a browser with 150 cookies that another solution’s script planted can sign in, and no response is too large for proxies', async () => {
    await addSolution('tossed')
    const anna = comeIn('tossed')
    for (let n = 0; n < 150; n++) anna.person.plant(host.url, `oauth-z${n}-tossed`, 'x', '/solution/tossed/')
    const { answer } = await anna.start()
    expect(answer.status).toBe(302)
    expect(JSON.stringify(answer.headers).length).toBeLessThan(8 * 1024)
    expect((await signIn(anna)).status).toBe(303)
    expect((await anna.session()).status).toBe(200)
  })

  test('100 forged logout tokens cause at most three requests for keys', async () => {
    const stage = await addSolution('made-up')
    const post = () =>
      host.ask(`${host.url}/solution/made-up/backchannel-logout`, {
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: new URLSearchParams({
          logout_token: stage.logoutToken({ header: (header) => ({ ...header, kid: `k${Math.random()}` }) }),
        }).toString(),
      })
    for (let round = 0; round < 10; round++) {
      const answers = await Promise.all(Array.from({ length: 10 }, post))
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([400]))
    }
    const count = (path: string) => stage.requests.filter((request) => request.path === path).length
    expect([count('/.well-known/openid-configuration'), count('/jwks') <= 3]).toEqual([1, true])
  })
})

describe('open sign-ins', () => {
  async function begin({ host, provider, ask }: PlayedSignIns) {
    const visitor = comeTo(host, 'query', createPerson({}, ask))
    const back = await goToProvider(visitor, `?stage=${provider.play().name}`)
    return { visitor, back, end: () => visitor.person.open(back, { from: provider.base }) }
  }

  test('a sign-in that takes too long has to start again', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    const limited = await createPlayedInMemory({ OAUTH_TRANSACTION: 1000 })
    try {
      const { end } = await begin(limited)
      vi.setSystemTime(Date.now() + 1000)
      const answer = await end()
      expect(answer.status).toBe(400)
      expect(answer.text).toContain('href="/solution/query/index.html"')
    } finally {
      await limited.stop()
      vi.useRealTimers()
    }
  })

  test('sign-ins in progress from one network are limited: the oldest one ends', async () => {
    const limited = await createPlayedInMemory({ OAUTH_OPEN_NETWORK: 2 })
    try {
      const begun = []
      for (const _ of [1, 2, 3]) begun.push(await begin(limited))
      const ends = []
      for (const { end } of begun) ends.push((await end()).status)
      expect(ends).toEqual([400, 303, 303])
    } finally {
      await limited.stop()
    }
  })

  test('a sign-in that started before a restart of the host succeeds', async () => {
    const home = mkdtempSync(join(tmpdir(), 'solhost-restarted-'))
    const first = await createPlayedInMemory({}, home)
    const { visitor, back } = await begin(first)
    await first.stop()
    const again = await createPlayedInMemory({}, home, first.provider)
    try {
      const person = createPerson({}, again.ask)
      for (const [name, value] of visitor.person.cookies(first.host.url)) person.plant(first.host.url, name, value, '/')
      expect((await person.open(back, { from: first.provider.base })).status).toBe(303)
      expect((await comeTo(again.host, 'query', person).session()).status).toBe(200)
    } finally {
      await again.stop()
      rmSync(home, { recursive: true })
    }
  })
})

test('after all tests, no log contains the client’s secret, a code or a token', () => {
  const lines = `${host.logged()}${JSON.stringify([...solutions.keys()].map((name) => host.linesOf(name)))}`
  expect(lines).not.toContain(CLIENT_SECRET)
  expect(lines).not.toMatch(/[?&](code|id_token)=|Bearer |Basic |eyJ[A-Za-z0-9_-]{10}/)
})

describe('where the script requires a second factor', () => {
  const requireFactor: AuthenticatorQuestion = async (...question) => {
    const answer = await byVerifiedEmail(...question)
    return answer.kind === 'accepted' ? { ...answer, effects: { ...answer.effects, needsSecondFactor: true } } : answer
  }
  const acr = { secondFactorAcr: 'urn:mfa https://refeds.org/profile/mfa' }

  test.each([
    ['amr-mfa', { amr: ['pwd', 'mfa'] }, {}],
    ['acr-first', { acr: 'urn:mfa' }, acr],
    ['acr-second', { acr: 'https://refeds.org/profile/mfa' }, acr],
  ])('a second factor that the provider’s ID token reports is enough: %s', async (name, more, oauth) => {
    const claims: Play['claims'] = (sound) => ({ ...sound, ...more })
    await addSolution(name, { play: { claims }, oauth, onSolutionOpen: requireFactor })
    const anna = comeIn(name)
    const page = await signIn(anna)
    expect([page.status, page.headers.location]).toEqual([303, `/solution/${name}/index.html`])
    expect((await anna.session()).status).toBe(200)
  })

  test.each([
    ['no-amr', {}, {}],
    ['amr-password', { amr: ['pwd'] }, {}],
    ['amr-text', { amr: 'mfa' }, {}],
    ['acr-unknown', { acr: 'urn:mfa' }, {}],
    ['acr-other', { acr: 'urn:mfa2' }, acr],
    ['acr-both', { acr: 'urn:mfa https://refeds.org/profile/mfa' }, acr],
    ['acr-empty', { acr: '' }, { secondFactorAcr: 'a  b' }],
    ['acr-list', { acr: ['urn:mfa'] }, acr],
  ])('a second factor that the ID token does not report properly is not enough: %s', async (name, more, oauth) => {
    const claims: Play['claims'] = (sound) => ({ ...sound, ...more })
    await addSolution(name, { play: { claims }, oauth, onSolutionOpen: requireFactor })
    const anna = comeIn(name)
    const page = await signIn(anna)
    expect([page.status, page.headers.location]).toEqual([303, `/solution/${name}/set-up`])
    expect((await anna.session()).status).toBe(401)
  })
})
