import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { beforeAll, expect, test } from 'vitest'
import { CLIENT_SECRET } from '../support/client-secret.ts'
import { ask } from '../support/http.ts'
import { json, slow } from '../support/misbehaving-provider.ts'
import { addOAuthSolution, comeTo, textOf, type Visitor } from '../support/oauth.ts'
import type { Page } from '../support/person.ts'
import { type PlayedHost, sharedPlayedHost } from '../support/played-host.ts'
import { askAdmin } from '../support/users.ts'

// Tests OAuth attacks that need a server, a client or a script. The others are in test/host/oauth/attacks.test.ts.

let played: PlayedHost
beforeAll(async () => {
  played = await sharedPlayedHost()
})

/** Starts a sign-in; the provider redirects back immediately. @returns the URL that it redirects the browser to */
async function goToProvider(visitor: Visitor, query = ''): Promise<string> {
  const { answer, location } = await visitor.start(query)
  if (answer.status !== 302) throw new Error(`the page answered ${answer.status}: ${textOf(answer.text)}`)
  const sent = await visitor.person.open(location, { from: visitor.base })
  return sent.headers.location ?? ''
}

async function signIn(visitor: Visitor, query = ''): Promise<Page> {
  return visitor.person.open(await goToProvider(visitor, query), { from: played.provider.base })
}

test('the refresh token and client secret are not sent to a revocation endpoint on another host', async () => {
  const { thief, host } = played
  const { visitor, answer } = await played.playSignIn('query', {
    discovery: (document) => json({ ...document, revocation_endpoint: `${thief.base}/revoke` }),
  })
  expect(answer.status).toBe(303)
  expect((await visitor.logOut()).status).toBe(200)
  await expect.poll(() => host.logged()).toContain('a token could not be revoked')
  expect(thief.got).toEqual([])
})

test('once the operator has set the provider, the author cannot redirect users elsewhere or keep a former provider', async () => {
  const { provider, host, thief } = played
  const [before, after] = [provider.play(), provider.play()]
  const author = { issuer: 'https://author.example', authorizationBaseUrl: `${thief.base}/phish`, jwks_uri: thief.base }
  const oauth = { api: 'Custom', clientId: 'one', apiSecret: '%%CLIENT%%', ...author }
  await addOAuthSolution(host, { name: 'redirected', oauth })
  const secret = { value: CLIENT_SECRET, hosts: [provider.hostPort] }
  await askAdmin(host, 'PUT', 'solutions/redirected/secrets/CLIENT', secret, 204)
  await askAdmin(host, 'PUT', 'solutions/redirected/oauth', { issuer: before.issuer })
  const anna = comeTo(host, 'redirected')
  expect((await anna.start()).location).toContain(`${before.issuer}/authorize?`)
  expect((await signIn(anna)).status).toBe(303)
  expect(thief.got).toEqual([])
  // The previous provider gets no more requests about the users that it signed in.
  anna.person.close()
  await askAdmin(host, 'PUT', 'solutions/redirected/oauth', { issuer: after.issuer })
  const asked = before.requests.length
  expect((await anna.start()).location).toContain(`${after.issuer}/authorize?`)
  expect(before.requests.length).toBe(asked)
  expect(anna.cookie('remember')).toBeUndefined()
  expect((await signIn(anna)).status).toBe(303)
})

test('no connection is made to an internal address in a discovery document', async () => {
  let connections = 0
  const canary = createServer((socket) => {
    connections++
    socket.destroy()
  }).listen(0)
  await once(canary, 'listening')
  const { port } = canary.address() as AddressInfo
  try {
    for (const address of [
      `https://localhost:${port}`,
      `https://[::ffff:127.0.0.1]:${port}`,
      `http://127.0.0.1:${port}`,
    ]) {
      const named = { token_endpoint: address, jwks_uri: address, userinfo_endpoint: address }
      const { answer } = await played.playSignIn('id-token', { discovery: (sound) => json({ ...sound, ...named }) })
      expect([403, 502, 503]).toContain(answer.status)
    }
    expect(connections).toBe(0)
  } finally {
    canary.close()
  }
})

test('a provider cannot set the fields that the platform sets: uid, permissions and last_login', async () => {
  const forged = { uid: 'root', permissions: ['Admins'], last_login: 'now', username: 'root' }
  const { answer } = await played.playSignIn('query', { claims: (sound) => ({ ...sound, ...forged }) })
  expect(answer.status).toBe(303)
  const lines = (await played.linesOf(played.solutionOf('query'))).filter(({ message }) => message.startsWith('shown'))
  expect(lines.at(-1)?.message).toBe('shown [null,null,"number"]')
})

test('while a provider hangs, ten tabs of a remembered user cause only one request', async () => {
  const { stage, visitor } = await played.playSignIn('query', {})
  visitor.person.close()
  stage.change({ refresh: { tokenEndpoint: slow } })
  const asked = () => stage.requests.filter(({ path }) => path === '/token').length
  const before = asked()
  const pages = await Promise.all(Array.from({ length: 10 }, () => visitor.open(`?stage=${stage.name}`)))
  expect(pages.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 502))
  expect(asked()).toBe(before + 1)
})

test('the sign-out URL at the provider stays short enough, however long the ID token is', async () => {
  const { visitor, answer } = await played.playSignIn('query', {
    claims: (sound) => ({ ...sound, groups: 'g'.repeat(20_000) }),
  })
  expect(answer.status).toBe(303)
  const page = await visitor.logOut()
  expect(page.text).toContain('/logout?client_id=one')
  expect(page.text).not.toContain('id_token_hint')
  expect((await visitor.session()).status).toBe(401)
})

test('20 simultaneous OAuth callbacks with one code create only one session', async () => {
  const { host, provider } = played
  const solution = played.solutionOf('query')
  const sessionsOf = async () => {
    const { items } = (await askAdmin(host, 'GET', 'sessions')) as { items: { solution: string }[] }
    return items.filter((one) => one.solution === solution).length
  }
  const before = await sessionsOf()
  const stage = provider.play()
  const anna = comeTo(host, solution)
  const back = await goToProvider(anna, `?stage=${stage.name}`)
  const cookies = [...anna.person.cookies(host.url)].map(([name, value]) => `${name}=${value}`).join('; ')
  // All requests send the same cookies, which were set at the start of the sign-in.
  const pages = await Promise.all(
    Array.from({ length: 20 }, () => ask(back, { headers: { accept: 'text/html', cookie: cookies } })),
  )
  const set = pages.filter(({ headers }) => String(headers['set-cookie']).includes(`session-${solution}=`))
  expect(set.length).toBe(1)
  expect(stage.requests.filter(({ path }) => path === '/token').length).toBe(1)
  expect(await sessionsOf()).toBe(before + 1)
})

test('a browser remembered with one tenant’s provider cannot sign in to another tenant by changing the URL', async () => {
  const { issuer } = played.provider.play()
  await addOAuthSolution(played.host, {
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
  const anna = comeTo(played.host, 'tenants')
  const tenantOf = async () => ((await anna.session()).json() as { tenant: unknown }).tenant
  await signIn(anna, '?tenant=north')
  expect(await tenantOf()).toEqual(['north', -1])
  anna.person.close()
  expect((await anna.open('?tenant=south')).status).toBe(200)
  expect(await tenantOf()).toEqual(['north', -1])
})

test('after all these attacks, no log contains the client secret, a code or a token', () => {
  expect(played.host.logged()).not.toContain(CLIENT_SECRET)
  expect(played.host.logged()).not.toMatch(/[?&](code|id_token)=|Bearer |Basic |eyJ[A-Za-z0-9_-]{10}/)
})
