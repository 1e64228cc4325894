import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { TestHost } from '../support/host.ts'
import { addSolutionOfProvider, comeTo, FLOWS, logOf, textOf } from '../support/oauth.ts'
import { startOAuthHost } from '../support/oauth-host.ts'
import { type OidcProvider, startOidcProvider } from '../support/oidc-provider.ts'

let provider: OidcProvider
let host: TestHost

beforeAll(async () => {
  provider = await startOidcProvider()
  host = await startOAuthHost([provider])
  for (const [name, oauth] of Object.entries(FLOWS)) await addSolutionOfProvider(host, provider, { name, oauth })
})
afterAll(async () => {
  await host.stop()
  await provider.stop()
})

describe.each(Object.keys(FLOWS))('the flow %s', (name) => {
  test('signs in, and the page that was asked for comes, with its query', async () => {
    const anna = comeTo(host, name)
    const back = await anna.signIn({}, '?tenant=north&argument=a%20b')
    expect([back.status, back.headers.location]).toEqual([
      303,
      `/solution/${name}/index.html?tenant=north&argument=a%20b`,
    ])
    const page = await anna.open()
    expect(textOf(page.text)).toContain('Signed in as anna@example.org')
    expect((await anna.session()).json()).toMatchObject({
      username: 'anna@example.org',
      uid: `${provider.issuer}#sub-of-anna`,
      permissions: ['Users', 'Admins'],
      tenant: ['north', -1],
    })
  })

  test('leaves no cookie of the sign-in behind', async () => {
    const anna = comeTo(host, name)
    await anna.signIn()
    expect(anna.cookieNames().filter((cookie) => cookie.startsWith('oauth-'))).toEqual([])
  })

  test('a user whom the authenticator does not log in gets a page that says so', async () => {
    const carl = comeTo(host, name)
    const back = await carl.signIn({ account: 'carl' })
    expect(back.status).toBe(403)
    expect(textOf(back.text)).toContain('anna@example.org')
    expect((await carl.session()).status).toBe(401)
  })

  test('a user who declines gets a page with a way on', async () => {
    const anna = comeTo(host, name)
    const back = await anna.signIn({ cancel: true })
    expect(back.status).toBe(403)
    expect(back.text).toContain(`href="/solution/${name}/index.html"`)
    const lines = await logOf(host, name)
    expect(lines.map(({ code }) => code)).toContain('oauth_denied')
  })
})
