import { beforeAll, describe, expect, test } from 'vitest'
import { comeTo, FLOWS, logOf, textOf } from '../support/oauth.ts'
import type { OidcProvider } from '../support/oidc-provider.ts'
import { type SharedOAuthHost, sharedOAuthHost } from '../support/shared-oauth-host.ts'

const NAME = 'flows'
let provider: OidcProvider
let host: SharedOAuthHost['host']

beforeAll(async () => {
  ;({ provider, host } = await sharedOAuthHost())
})

describe.each(Object.keys(FLOWS))('the flow %s', (flow) => {
  const query = `?flow=${flow}&tenant=north&argument=a%20b`

  test('the flow signs the user in, shows the requested page with its query, and removes the sign-in cookie', async () => {
    const anna = comeTo(host, NAME)
    const back = await anna.signIn({}, query)
    expect([back.status, back.headers.location]).toEqual([303, `/solution/${NAME}/index.html${query}`])
    expect(anna.cookieNames().filter((cookie) => cookie.startsWith('oauth-'))).toEqual([])
    const page = await anna.open()
    expect(textOf(page.text)).toContain('Signed in as anna@example.org')
    expect((await anna.session()).json()).toMatchObject({
      username: 'anna@example.org',
      uid: `${provider.issuer}#sub-of-anna`,
      permissions: ['Users', 'Admins'],
      tenant: ['north', -1],
    })
  })

  test('a user that the authenticator rejects gets a page that says so', async () => {
    const carl = comeTo(host, NAME)
    const back = await carl.signIn({ account: 'carl' }, query)
    expect(back.status).toBe(403)
    expect(textOf(back.text)).toContain('anna@example.org')
    expect((await carl.session()).status).toBe(401)
  })

  test('a user who declines at the provider gets a page with a link to try again', async () => {
    const anna = comeTo(host, NAME)
    const back = await anna.signIn({ cancel: true }, query)
    expect(back.status).toBe(403)
    expect(back.text).toContain(`href="/solution/${NAME}/index.html${query.replaceAll('&', '&amp;')}"`)
    const reference = back.headers['x-correlation-id']
    const lines = await logOf(host, NAME)
    expect(lines.filter(({ correlationId }) => correlationId === reference).map(({ code }) => code)).toEqual([
      'oauth_denied',
    ])
  })
})
