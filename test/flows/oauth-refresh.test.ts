import { beforeAll, expect, test } from 'vitest'
import { addSolutionOfProvider, comeTo, logOf, textOf } from '../support/oauth.ts'
import type { ACCOUNTS, OidcProvider } from '../support/oidc-provider.ts'
import { OFFLINE, type SharedOAuthHost, sharedOAuthHost } from '../support/shared-oauth-host.ts'

let provider: OidcProvider
let host: SharedOAuthHost['host']

/** An authenticator that sets the tenant and the language only at the first sign-in. */
const TENANTS = `function onSolutionOpen(arg, q) {
  const { email, uid, tenant } = q.last_login
  security.login(email, 'u-1', ['Users'])
  if (uid === undefined) {
    security.setTenantValue([q.tenant, Number(q.custom_desk)])
    i18n.setLocale('nl', 'BE')
  } else if (q.custom_desk !== String(tenant[1])) security.setTenantValue('not the same desk')
}`

beforeAll(async () => {
  ;({ provider, host } = await sharedOAuthHost())
  const refreshTokenEndpoint = `${provider.issuer}/token?by=refresh`
  const revokeTokenEndpoint = `${provider.issuer}/token/revocation?by=revoke`
  await addSolutionOfProvider(host, provider, {
    name: 'elsewhere',
    oauth: { ...OFFLINE, refreshTokenEndpoint, revokeTokenEndpoint },
  })
  await addSolutionOfProvider(host, provider, { name: 'tenants', oauth: OFFLINE, script: TENANTS })
})

async function closedBrowser(name = 'offline') {
  const anna = comeTo(host, name)
  expect((await anna.signIn()).status).toBe(303)
  anna.person.close()
  return anna
}

function refreshes() {
  return provider.requests.filter(({ body }) => body?.grant_type === 'refresh_token')
}

test('without a refresh token, the browser is not remembered', async () => {
  const anna = comeTo(host, 'flows')
  await anna.signIn()
  expect(anna.cookie('remember')).toBeUndefined()
})

test('a remembered user is signed in with the refresh token, and the authenticator is called again', async () => {
  const anna = await closedBrowser()
  const before = refreshes().length
  expect(textOf((await anna.open('?tenant=south')).text)).toContain('Signed in as anna@example.org')
  expect(refreshes().length).toBe(before + 1)
  const asked = (await logOf(host, 'offline')).filter(({ message }) => message.startsWith('asked ')).at(-1)
  const { q } = JSON.parse(asked?.message.slice('asked '.length) ?? '{}')
  expect(q).toMatchObject({
    tenant: 'south',
    username: 'anna@example.org',
    last_login: {
      uid: `${provider.issuer}#sub-of-anna`,
      username: 'anna@example.org',
      permissions: ['Users', 'Admins'],
      email: 'anna@example.org',
      sub: 'sub-of-anna',
      tenant: null,
      locale: 'en',
    },
  })
})

test('returning with another URL keeps the tenant, language and custom fields from the sign-in', async () => {
  const anna = comeTo(host, 'tenants')
  expect((await anna.signIn({}, '?tenant=south&custom_desk=7')).status).toBe(303)
  anna.person.close()
  expect((await anna.open('?custom_desk=8')).status).toBe(200)
  expect((await anna.session()).json()).toMatchObject({ tenant: ['south', 7], locale: 'nl-BE' })
})

test('refreshTokenEndpoint and revokeTokenEndpoint: tokens are exchanged and revoked there, and neither URL is sent as a parameter', async () => {
  const from = provider.requests.length
  const anna = await closedBrowser('elsewhere')
  expect((await anna.open()).status).toBe(200)
  expect(refreshes().at(-1)?.query).toEqual({ by: 'refresh' })
  await anna.logOut()
  const revoked = () => provider.requests.slice(from).filter(({ path }) => path.endsWith('/revocation'))
  await expect.poll(() => revoked().map(({ query }) => query)).toEqual([{ by: 'revoke' }])
  const sent = provider.requests.slice(from).flatMap(({ query, body }) => Object.keys({ ...query, ...body }))
  expect(sent.filter((name) => /endpoint/i.test(name))).toEqual([])
})

test('each refresh token is used once: the next visit uses the next token', async () => {
  const anna = await closedBrowser()
  const from = refreshes().length
  for (const _ of [1, 2, 3]) {
    expect(textOf((await anna.open()).text)).toContain('Signed in as')
    anna.person.close()
  }
  const used = refreshes()
    .slice(from)
    .map(({ body }) => body?.refresh_token)
  expect(new Set(used).size).toBe(3)
})

test('a user that the authenticator no longer accepts must sign in with the provider again', async () => {
  const anna = await closedBrowser()
  const place = provider.accounts.findIndex(({ name }) => name === 'anna')
  const account = provider.accounts[place] as (typeof ACCOUNTS)[number]
  provider.accounts[place] = { ...account, claims: { ...account.claims, email_verified: false } }
  try {
    const answer = await anna.open()
    expect([answer.status, new URL(answer.headers.location ?? '').origin]).toEqual([302, provider.issuer])
    expect(anna.cookie('remember')).toBeUndefined()
  } finally {
    provider.accounts[place] = account
  }
})

test('while the provider is down, the page says so, and the remembered login is kept', async () => {
  const anna = await closedBrowser()
  const cookie = anna.cookie('remember')
  await provider.down()
  const away = await anna.open()
  expect([away.status, away.headers['retry-after']]).toEqual([502, '5'])
  expect(anna.cookie('remember')).toBe(cookie)
  await provider.up()
  expect(textOf((await anna.open()).text)).toContain('Signed in as anna@example.org')
})

test('a refresh token that the provider has revoked ends the remembered login', async () => {
  const anna = await closedBrowser()
  await provider.sessionsEnd('sub-of-anna')
  const answer = await anna.open()
  expect(answer.status).toBe(302)
  expect(anna.cookie('remember')).toBeUndefined()
})

test('no token, code or secret is in the platform’s log or the solution’s log', async () => {
  const anna = await closedBrowser()
  await anna.open()
  const secrets = provider.requests.flatMap(({ body = {}, query }) =>
    [body.code, body.refresh_token, body.client_secret, body.code_verifier, query.code, query.id_token_hint].filter(
      (value): value is string => typeof value === 'string',
    ),
  )
  expect(secrets.length).toBeGreaterThan(5)
  const lines = `${host.logged()}${JSON.stringify(await logOf(host, 'offline'))}`
  expect(secrets.filter((secret) => lines.includes(secret))).toEqual([])
})
