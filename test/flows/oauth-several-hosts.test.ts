import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { SERVER_START, type TestServer } from '../support/database-server.ts'
import { type HostGroup, sharedProperties, startHostGroup } from '../support/host-group.ts'
import { addSolutionOfProvider, comeTo, type OAuthHost } from '../support/oauth.ts'
import { type OidcProvider, startOidcProvider } from '../support/oidc-provider.ts'
import { deliver, signInAtProvider } from '../support/person.ts'
import { postgresPath, sharedPostgres } from '../support/postgres-server.ts'

const OFFLINE = { defaultScope: 'openid email profile offline_access', prompt: 'consent' }

describe.skipIf(postgresPath === undefined)('two hosts with one database, and sign-ins with a provider', () => {
  let server: TestServer
  let provider: OidcProvider
  let group: HostGroup & OAuthHost

  beforeAll(async () => {
    server = await sharedPostgres()
    provider = await startOidcProvider()
    const made = await startHostGroup(2, {
      ...sharedProperties('alpha', server),
      OAUTH_ALLOWED_HOSTS: provider.hostPort,
      REMEMBER_GRACE: '1ms',
    })
    const upload: OAuthHost['upload'] = (name, bundle) =>
      fetch(`${made.url}/admin/api/solutions/${name}`, {
        method: 'PUT',
        headers: { authorization: made.admin, 'content-type': 'application/zip' },
        body: new Uint8Array(bundle),
      })
    group = { ...made, upload }
    await addSolutionOfProvider(group, provider, { name: 'crm', oauth: OFFLINE })
  }, SERVER_START + 60_000)
  afterAll(async () => {
    await group?.stop()
    await provider?.stop()
    await server?.stop()
  })

  const tokenRequests = () => provider.requests.filter(({ path }) => path.endsWith('/token')).length

  test('a sign-in started on one host can be completed on the other', async () => {
    for (let n = 0; n < 4; n++) {
      const anna = comeTo(group, 'crm')
      // The load balancer alternates between the hosts. In every second round, an extra request changes which host
      // starts the sign-in.
      if (n % 2 === 1) await anna.session()
      expect((await anna.signIn({}, `?n=${n}`)).headers.location).toBe(`/solution/crm/index.html?n=${n}`)
      expect((await anna.session()).status).toBe(200)
    }
  })

  test('ten simultaneous OAuth callbacks on both hosts cause one sign-in and one request to the provider', async () => {
    const anna = comeTo(group, 'crm')
    const { location } = await anna.start()
    const back = await signInAtProvider(anna.person, location, { account: 'anna' })
    const asked = tokenRequests()
    const answers = await Promise.all(Array.from({ length: 10 }, () => deliver(anna.person, back)))
    expect(answers.filter(({ status }) => status === 303).length).toBeGreaterThanOrEqual(1)
    expect(tokenRequests()).toBe(asked + 1)
  })

  test('either host can sign in a remembered user, with the newest refresh token', async () => {
    const anna = comeTo(group, 'crm')
    await anna.signIn()
    for (let n = 0; n < 4; n++) {
      anna.person.close()
      expect((await anna.open()).status).toBe(200)
      expect((await anna.session()).status).toBe(200)
    }
  })

  test('a sign-out at the provider ends the session on both hosts', async () => {
    const anna = comeTo(group, 'crm')
    await anna.signIn()
    // These requests reach both hosts, so both have the session in their cache.
    for (let n = 0; n < 4; n++) expect((await anna.session()).status).toBe(200)
    await provider.sessionsEnd('sub-of-anna')
    await expect
      .poll(async () => [(await anna.session()).status, (await anna.session()).status], { timeout: 5000 })
      .toEqual([401, 401])
  })
})
