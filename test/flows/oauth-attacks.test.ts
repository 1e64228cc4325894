import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { CLIENT_SECRET } from '../support/client-secret.ts'
import type { TestHost } from '../support/host.ts'
import { ask } from '../support/http.ts'
import {
  json,
  type MisbehavingProvider,
  type Play,
  type Stage,
  slow,
  startMisbehavingProvider,
} from '../support/misbehaving-provider.ts'
import { addOAuthSolution, comeTo, logOf, type OAuthSolution, textOf } from '../support/oauth.ts'
import { startOAuthHost } from '../support/oauth-host.ts'
import type { Page } from '../support/person.ts'
import { askAdmin } from '../support/users.ts'

let provider: MisbehavingProvider
let host: TestHost
let thief: Thief

/** A server of an attacker that hosts may ask: what keeps secrets from it is not the network. */
type Thief = {
  readonly hostPort: string
  readonly base: string
  /** What it was asked, with what. */
  readonly got: string[]
  readonly server: Server
  /** Answers wait for it. */
  hold: Promise<void> | null
}

async function startThief(): Promise<Thief> {
  const got: string[] = []
  const made: Pick<Thief, 'hold'> = { hold: null }
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += String(chunk)
    got.push(`${request.method} ${request.url} ${request.headers.authorization ?? ''} ${body}`)
    await made.hold
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ id: 1, sub: 'sub-of-anna', email: 'anna@example.org', email_verified: true }))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const hostPort = `127.0.0.1:${(server.address() as AddressInfo).port}`
  return Object.assign(made, { hostPort, base: `http://${hostPort}`, got, server })
}

beforeAll(async () => {
  provider = await startMisbehavingProvider()
  thief = await startThief()
  host = await startOAuthHost([provider, thief], { REMEMBER_GRACE: '1ms', OAUTH_TIME: '3s' })
})
afterAll(async () => {
  await host.stop()
  await provider.stop()
  thief.server.close()
})

/** A solution of its own on a play of its own, with the operator's secret for the provider's host. */
async function addSolution(
  name: string,
  { play = {}, oauth = {}, ...more }: { play?: Play; oauth?: Record<string, unknown> } & Partial<OAuthSolution> = {},
): Promise<Stage> {
  const stage = provider.play(play)
  const written = { api: 'Custom', issuer: stage.issuer, clientId: 'one', apiSecret: '%%CLIENT%%', ...oauth }
  await addOAuthSolution(host, { name, oauth: written, ...more })
  await setSecret(name, [provider.hostPort])
  return stage
}

const setSecret = (name: string, hosts: readonly string[]) =>
  askAdmin(host, 'PUT', `solutions/${name}/secrets/CLIENT`, { value: CLIENT_SECRET, hosts }, 204)

type Visitor = ReturnType<typeof comeTo>

/** To the provider, which answers at once: where it sends the browser. */
async function goToProvider(visitor: Visitor, query = ''): Promise<string> {
  const { answer, location } = await visitor.start(query)
  if (answer.status !== 302) throw new Error(`the page answered ${answer.status}: ${textOf(answer.text)}`)
  const sent = await visitor.person.open(location, { from: visitor.base })
  return sent.headers.location ?? ''
}

async function signIn(visitor: Visitor, query = ''): Promise<Page> {
  return visitor.person.open(await goToProvider(visitor, query), { from: provider.base })
}

/** The visitor's own cookies are good, and the page says what is wrong with the settings. */
async function expectRefused(visitor: Visitor, page: Page, status: number): Promise<void> {
  expect([page.status, textOf(page.text)]).toEqual([status, expect.stringContaining('Reference')])
  expect((await visitor.session()).status).toBe(401)
}

const without =
  (...names: string[]): NonNullable<Play['claims']> =>
  (claims) =>
    Object.fromEntries(Object.entries(claims).filter(([name]) => !names.includes(name)))

describe('a secret of the operator', () => {
  test('is not for a token endpoint on another port that the discovery document names, nor is a code', async () => {
    const discovery: Play['discovery'] = (document) => json({ ...document, token_endpoint: `${thief.base}/token` })
    await addSolution('other-port', { play: { discovery } })
    const anna = comeTo(host, 'other-port')
    await expectRefused(anna, (await anna.start()).answer, 503)
    expect(thief.got).toEqual([])
  })

  test('is not for a token endpoint that the discovery document names while the user is at the provider', async () => {
    const stage = await addSolution('while-away')
    const anna = comeTo(host, 'while-away')
    const back = await goToProvider(anna)
    stage.change({ discovery: (document) => json({ ...document, token_endpoint: `${thief.base}/token` }) })
    expect((await anna.person.open(back, { from: provider.base })).status).toBe(303)
    expect(thief.got).toEqual([])
  })

  test('that is taken back while the user is at the provider goes nowhere, and no code either', async () => {
    const stage = await addSolution('taken-back')
    const anna = comeTo(host, 'taken-back')
    const back = await goToProvider(anna)
    await setSecret('taken-back', ['id.example.org'])
    await expectRefused(anna, await anna.person.open(back, { from: provider.base }), 503)
    expect(stage.requests.map(({ path }) => path)).not.toContain('/token')
  })

  test('is not for another solution that writes its name', async () => {
    await addSolution('owner')
    const stage = provider.play()
    const oauth = { api: 'Custom', issuer: stage.issuer, clientId: 'one', apiSecret: '%%CLIENT%%' }
    await addOAuthSolution(host, { name: 'not-owner', oauth })
    const anna = comeTo(host, 'not-owner')
    await expectRefused(anna, (await anna.start()).answer, 503)
  })

  test('is not for a revocation endpoint elsewhere, nor is a refresh token', async () => {
    const discovery: Play['discovery'] = (document) =>
      json({ ...document, revocation_endpoint: `${thief.base}/revoke` })
    await addSolution('revoked', { play: { discovery } })
    const anna = comeTo(host, 'revoked')
    expect((await signIn(anna)).status).toBe(303)
    expect((await anna.logOut()).status).toBe(200)
    await expect.poll(() => host.logged()).toContain('a token could not be revoked')
    expect(thief.got).toEqual([])
  })

  test('keeps users’ access tokens from a user info endpoint that the author wrote, until the operator names its host', async () => {
    const oauth = { userInfoEndpoint: `${thief.base}/me` }
    await addSolution('token-thief', { oauth, play: { claims: without('email', 'email_verified', 'name') } })
    const anna = comeTo(host, 'token-thief')
    await expectRefused(anna, (await anna.start()).answer, 503)
    expect(thief.got).toEqual([])
    await setSecret('token-thief', [provider.hostPort, thief.hostPort])
    expect((await signIn(anna)).status).toBe(303)
    expect(thief.got.splice(0)).toEqual([expect.stringMatching(/^GET \/me Bearer \S+ $/)])
  })
})

describe('a hostile author', () => {
  test('cannot lead users elsewhere once the operator says where the provider is', async () => {
    const stage = await addSolution('redirected', {
      oauth: { issuer: 'https://author.example', authorizationBaseUrl: `${thief.base}/phish`, jwks_uri: thief.base },
    })
    await askAdmin(host, 'PUT', 'solutions/redirected/oauth', { issuer: stage.issuer })
    const anna = comeTo(host, 'redirected')
    expect((await anna.start()).location).toContain(`${stage.issuer}/authorize?`)
    expect((await signIn(anna)).status).toBe(303)
    expect(thief.got).toEqual([])
  })

  /** Spellings of places that no solution may reach; `PORT` is one that listens on loopback. */
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

  test('reaches nothing inside by any spelling of an address, in the settings or by a discovery document', async () => {
    let connections = 0
    const canary = createTcpServer((socket) => {
      connections++
      socket.destroy()
    }).listen(0)
    await once(canary, 'listening')
    const at = (address: string) => address.replace('PORT', String((canary.address() as AddressInfo).port))
    let document: Record<string, string> = {}
    const discovery: Play['discovery'] = (sound) => json({ ...sound, ...document })
    const stage = provider.play({ discovery })
    await addOAuthSolution(host, {
      name: 'inside',
      manifest: { authenticator: 'OAUTH_AUTHENTICATOR', oauth: undefined },
      oauth: {},
      script: `function getOAuthConfig(q) { return Object.assign({ api: 'Custom', clientId: 'one', issuer: q.issuer }, JSON.parse(q.more)) }
        function onSolutionOpen(arg, q) { security.login(q.last_login.email, q.last_login.sub, ['Users']) }`,
    })
    try {
      const tries: Promise<void>[] = []
      const tryWith = async (issuer: string, more: object) => {
        const query = new URLSearchParams({ issuer, more: JSON.stringify(more) })
        const anna = comeTo(host, 'inside')
        const { answer, location } = await anna.start(`?${query}`)
        const problem = `${JSON.stringify(more)} at ${issuer} was answered ${answer.status} ${location}`
        // An address that only the host itself asks is tried when the browser comes back.
        const page = answer.status === 302 ? await signIn(anna, `?${query}`) : answer
        expect([403, 502, 503], problem).toContain(page.status)
      }
      for (const address of INTERNAL) {
        tries.push(tryWith(at(address), {}))
        for (const name of ['authorizationBaseUrl', 'accessTokenEndpoint', 'jwks_uri']) {
          // A browser goes to any https address; the host does not.
          if (name === 'authorizationBaseUrl' && URL.parse(at(address))?.protocol === 'https:') continue
          tries.push(tryWith(stage.issuer, { [name]: at(address) }))
        }
      }
      await Promise.all(tries)
      for (const address of INTERNAL) {
        document = { token_endpoint: at(address), jwks_uri: at(address), userinfo_endpoint: at(address) }
        // Documents are held for ten minutes, by issuer.
        const again = provider.play({ discovery })
        await tryWith(again.issuer, {})
      }
      expect(connections).toBe(0)
    } finally {
      canary.close()
    }
  })

  test('sends no browser to another scheme, host or line by the address of the provider', async () => {
    await addOAuthSolution(host, {
      name: 'leads',
      manifest: { authenticator: 'OAUTH_AUTHENTICATOR', oauth: undefined },
      oauth: {},
      script: `function getOAuthConfig(q) { return { api: 'Custom', clientId: 'one', issuer: 'https://id.example.org',
        authorizationBaseUrl: q.to, accessTokenEndpoint: 'https://id.example.org/t', jwks_uri: 'https://id.example.org/k' } }
        function onSolutionOpen() { return null }`,
    })
    const lead = async (to: string) =>
      (await comeTo(host, 'leads').start(`?to=${encodeURIComponent(to)}`)).answer.headers.location
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
    // What a browser would read otherwise than people is written as the browser reads it, or refused.
    for (const to of ['https://good.example\\@evil.example/', 'https://good.example/\r\nSet-Cookie: a=b']) {
      const location = (await lead(to)) ?? 'https://good.example/'
      expect([to, new URL(location).host, /[\\\s]/.test(location)]).toEqual([to, 'good.example', false])
    }
  })
})

describe('a hostile provider', () => {
  const THIN = without('email', 'email_verified', 'name')
  const SHOWS = `function onSolutionOpen(arg, q) {
    const copied = Object.assign({}, q.last_login)
    application.output('shown ' + JSON.stringify([copied.isAdmin, q.last_login.uid, q.last_login.permissions, typeof q.last_login.last_login]))
    security.login('anna', 'u', ['Users'])
  }`
  const user = '"sub":"sub-of-anna","email":"anna@example.org","email_verified":true'

  test.each([
    ['__proto__', `{${user},"__proto__":{"isAdmin":true}}`],
    ['a deep __proto__', `{${user},"address":{"__proto__":{"isAdmin":true}}}`],
    ['constructor', `{${user},"constructor":{"prototype":{"isAdmin":true}}}`],
    ['3,000 levels', `{${user},"x":${'['.repeat(3000)}${']'.repeat(3000)}}`],
    ['100,000 levels', `{${user},"x":${'['.repeat(100_000)}${']'.repeat(100_000)}}`],
    ['40 kB of claims', `{${user},"x":"${'x'.repeat(40_000)}"}`],
  ])('gives no script user info with %s', async (what, body) => {
    const name = `info-${what
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, '-')
      .replace(/^-|-$/g, '')}`
    const reply = { status: 200, type: 'application/json', body }
    await addSolution(name, { script: SHOWS, play: { claims: THIN, userInfo: () => reply } })
    const anna = comeTo(host, name)
    await expectRefused(anna, await signIn(anna), 502)
    expect((await logOf(host, name)).filter(({ message }) => message.startsWith('shown'))).toEqual([])
  })

  test('cannot say what the platform says: uid, permissions and last_login of an earlier sign-in', async () => {
    const forged = { uid: 'root', permissions: ['Admins'], last_login: 'now', username: 'root' }
    await addSolution('spoofed', { script: SHOWS, play: { claims: (sound) => ({ ...sound, ...forged }) } })
    expect((await signIn(comeTo(host, 'spoofed'))).status).toBe(303)
    const [line] = (await logOf(host, 'spoofed')).filter(({ message }) => message.startsWith('shown'))
    expect(line?.message).toBe('shown [null,null,null,"number"]')
  })

  test('writes no markup into our pages, by claims or by errors', async () => {
    const markup = '"><img src=x onerror=alert(1)><script>alert(1)</script>'
    const refuse = 'function onSolutionOpen() { return null }'
    const claims: Play['claims'] = (sound) => ({ ...sound, email: markup, name: markup })
    await addSolution('markup', { script: refuse, play: { claims } })
    const page = await signIn(comeTo(host, 'markup'))
    expect([page.status, page.text.includes('&lt;img src=x')]).toEqual([403, true])
    const authorization: Play['authorization'] = (parameters) => [
      ['error', markup],
      ['error_description', markup],
      ...parameters.filter(([name]) => name !== 'code'),
    ]
    await addSolution('markup-error', { play: { authorization } })
    const error = await signIn(comeTo(host, 'markup-error'))
    expect(error.status).toBe(503)
    for (const { text, headers } of [page, error]) {
      expect(text).not.toContain('<img')
      expect(text).not.toContain('alert(1)</script>')
      expect(headers['content-security-policy']).toMatch(/script-src 'nonce-[^']+' 'strict-dynamic'/)
    }
  })

  test('forges no line of the log: what it says is quoted, with every character that is not seen written out', async () => {
    const said = 'x\u009b31m\u001b[31m\u202e\u2028\r\n{"level":60}'
    const authorization: Play['authorization'] = (parameters) => [
      ['error', said],
      ...parameters.filter(([name]) => name !== 'code'),
    ]
    await addSolution('forged-line', { play: { authorization } })
    await signIn(comeTo(host, 'forged-line'))
    const [line] = await logOf(host, 'forged-line')
    expect(line?.message).toMatch(/^[\x20-\x7e]+"x\\u\{9b\}31m\\u001b\[31m\\u\{202e\}\\u\{2028\}\\r\\n/)
  })

  test('does not fill the database by huge refresh tokens', async () => {
    const tokenEndpoint: Play['tokenEndpoint'] = (sound) => json({ ...sound, refresh_token: 'r'.repeat(100_000) })
    await addSolution('huge-token', { play: { tokenEndpoint } })
    const anna = comeTo(host, 'huge-token')
    await expectRefused(anna, await signIn(anna), 502)
  })

  test('that hangs holds up ten tabs of a remembered user once, not one after the other', async () => {
    const stage = await addSolution('ten-tabs')
    const anna = comeTo(host, 'ten-tabs')
    await signIn(anna)
    anna.person.close()
    stage.change({ refresh: { tokenEndpoint: slow } })
    const asked = () => stage.requests.filter(({ path }) => path === '/token').length
    const before = asked()
    const pages = await Promise.all(Array.from({ length: 10 }, () => anna.open()))
    expect(pages.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 502))
    expect(asked()).toBe(before + 1)
  })
})

describe('a provider’s sign-out', () => {
  test('that comes while its user is on the way back keeps the session from being made', async () => {
    const stage = await addSolution('overtaken', {
      oauth: { userInfoEndpoint: `${thief.base}/me` },
      play: { claims: without('email', 'email_verified', 'name') },
    })
    await setSecret('overtaken', [provider.hostPort, thief.hostPort])
    const anna = comeTo(host, 'overtaken')
    const back = await goToProvider(anna)
    const { promise, resolve } = Promise.withResolvers<void>()
    thief.hold = promise
    try {
      const returned = anna.person.open(back, { from: provider.base })
      await expect.poll(() => thief.got.length).toBe(1)
      const { status } = await ask(`${anna.base}/backchannel-logout`, {
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

  test('is asked for by an address that servers take, however long the ID token is', async () => {
    await addSolution('long-token', { play: { claims: (sound) => ({ ...sound, groups: 'g'.repeat(20_000) }) } })
    const anna = comeTo(host, 'long-token')
    expect((await signIn(anna)).status).toBe(303)
    const page = await anna.logOut()
    expect(page.text).toContain('/logout?client_id=one')
    expect(page.text).not.toContain('id_token_hint')
    expect((await anna.session()).status).toBe(401)
  })
})

describe('a hostile browser', () => {
  test('makes one session of twenty returns at once with one code', async () => {
    const stage = await addSolution('twenty')
    const anna = comeTo(host, 'twenty')
    const back = await goToProvider(anna)
    const cookies = [...anna.person.cookies(host.url)].map(([name, value]) => `${name}=${value}`).join('; ')
    // Each as if it came first: with the cookies of the start.
    const pages = await Promise.all(
      Array.from({ length: 20 }, () => ask(back, { headers: { accept: 'text/html', cookie: cookies } })),
    )
    const sessions = pages.filter(({ headers }) => /\bsession-twenty=\w/.test(String(headers['set-cookie'])))
    expect(sessions.length).toBe(1)
    expect(stage.requests.filter(({ path }) => path === '/token').length).toBe(1)
    const { items } = (await askAdmin(host, 'GET', 'sessions')) as { items: { solution: string }[] }
    expect(items.filter(({ solution }) => solution === 'twenty').length).toBe(1)
  })

  test('with 150 cookies that a neighbour’s script planted signs in, and gets no answer too large for proxies', async () => {
    await addSolution('tossed')
    const anna = comeTo(host, 'tossed')
    for (let n = 0; n < 150; n++) anna.person.plant(host.url, `oauth-z${n}-tossed`, 'x', '/solution/tossed/')
    const { answer } = await anna.start()
    expect(answer.status).toBe(302)
    expect(JSON.stringify(answer.headers).length).toBeLessThan(8 * 1024)
    expect((await signIn(anna)).status).toBe(303)
    expect((await anna.session()).status).toBe(200)
  })

  test('remembered by a provider that the operator replaced is asked at the new one, and the former nothing', async () => {
    const before = await addSolution('moved')
    const after = provider.play()
    const anna = comeTo(host, 'moved')
    await signIn(anna)
    anna.person.close()
    await askAdmin(host, 'PUT', 'solutions/moved/oauth', { issuer: after.issuer })
    const asked = before.requests.length
    expect((await anna.start()).location).toContain(`${after.issuer}/authorize?`)
    expect(before.requests.length).toBe(asked)
    expect(anna.cookie('remember')).toBeUndefined()
    expect((await signIn(anna)).status).toBe(303)
  })

  test('remembered by one tenant’s provider does not come in as another tenant by its address', async () => {
    const { issuer } = provider.play()
    await addOAuthSolution(host, {
      name: 'tenants',
      manifest: { authenticator: 'OAUTH_AUTHENTICATOR', oauth: undefined },
      oauth: {},
      script: `
        const NORTH = { api: 'Custom', clientId: 'one', apiSecret: '${CLIENT_SECRET}', issuer: '${issuer}' }
        const SOUTH = { api: 'Custom', clientId: 'two', issuer: 'https://south.example.org' }
        function getOAuthConfig(q) { return q.tenant === 'north' ? NORTH : SOUTH }
        function onSolutionOpen(arg, q) {
          security.setTenantValue([q.tenant, -1])
          security.login(q.last_login.email, q.last_login.sub, ['Users'])
        }`,
    })
    const anna = comeTo(host, 'tenants')
    const tenantOf = async () => ((await anna.session()).json() as { tenant: unknown }).tenant
    await signIn(anna, '?tenant=north')
    expect(await tenantOf()).toEqual(['north', -1])
    anna.person.close()
    expect((await anna.open('?tenant=south')).status).toBe(200)
    expect(await tenantOf()).toEqual(['north', -1])
  })

  test('makes the host ask for keys three times at most by a hundred made-up logout tokens', async () => {
    const stage = await addSolution('made-up')
    const post = () =>
      ask(`${host.url}/solution/made-up/backchannel-logout`, {
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

test('after all of this, no log has the client’s secret, a code or a token', () => {
  expect(host.logged()).not.toContain(CLIENT_SECRET)
  expect(host.logged()).not.toMatch(/[?&](code|id_token)=|Bearer |Basic |eyJ[A-Za-z0-9_-]{10}/)
})
