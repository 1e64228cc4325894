import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { CLIENT_SECRET } from '../support/client-secret.ts'
import { type Glewlwyd, glewlwydPath, signInAtGlewlwyd, signOutAtGlewlwyd, startGlewlwyd } from '../support/glewlwyd.ts'
import type { TestHost } from '../support/host.ts'
import { addOAuthSolution, BY_EMAIL, chooseFlow, comeTo, FLOWS, textOf } from '../support/oauth.ts'
import { startOAuthHost } from '../support/oauth-host.ts'
import { deliver, type Page } from '../support/person.ts'
import { askAdmin } from '../support/users.ts'

const NAME = 'flows'

if (glewlwydPath === undefined) {
  console.info('Glewlwyd is not installed: the flows against it are left out')
  test('Glewlwyd is not installed here', () => {
    expect(glewlwydPath).toBe(undefined)
  })
} else describe('with Glewlwyd, an independent provider', testFlows)

function testFlows(): void {
  let provider: Glewlwyd
  let host: TestHost

  beforeAll(async () => {
    provider = await startGlewlwyd()
    host = await startOAuthHost([provider], { REMEMBER_GRACE: '1ms' })
    await addSolution()
  })
  afterAll(async () => {
    await host?.stop()
    await provider?.stop()
  })

  for (const flow of Object.keys(FLOWS)) {
    test(`the flow ${flow} signs in, and shows the requested page`, async () => {
      const anna = comeTo(host, NAME)
      const query = `?flow=${flow}&tenant=north`
      const back = await signIn(anna, 'anna', query)
      expect([back.status, back.headers.location]).toEqual([303, `/solution/${NAME}/index.html${query}`])
      expect((await anna.session()).json()).toMatchObject({
        username: 'anna@example.org',
        permissions: ['Users', 'Admins'],
        tenant: ['north', -1],
      })
    })
  }

  test('a user with an unverified email cannot sign in', async () => {
    const bram = comeTo(host, NAME)
    expect((await signIn(bram, 'bram', '?flow=query')).status).toBe(403)
    expect((await bram.session()).status).toBe(401)
  })

  test('a remembered login is checked with a refresh token, which is replaced each time', async () => {
    const anna = comeTo(host, NAME)
    await signIn(anna, 'anna', '?flow=query')
    for (let time = 0; time < 2; time++) {
      anna.person.close()
      expect((await anna.session()).status).toBe(401)
      expect(textOf((await anna.open('?flow=query')).text)).toContain('Signed in as anna@example.org')
    }
  })

  test('signing out redirects to Glewlwyd and back to the signed-out page', async () => {
    const anna = comeTo(host, NAME)
    await signIn(anna, 'anna', '?flow=query')
    const page = await anna.logOut()
    const location = endSessionIn(page)
    expect(location).toContain(`${provider.issuer}/end_session`)
    const end = await anna.person.open(await signOutAtGlewlwyd(anna.person, location))
    expect(end.status).toBe(200)
    expect(textOf(end.text)).toContain('You are signed out')
  })

  async function addSolution(): Promise<void> {
    const base = `${host.url}/solution/${NAME}`
    await provider.addClient({
      clientId: NAME,
      redirectUris: [`${base}/app_oauth/index.html`],
      postLogoutRedirectUris: [`${base}/index.html?signed-out`],
      backchannelLogoutUri: `${base}/backchannel-logout`,
    })
    const settings = { api: 'Custom', issuer: provider.issuer, clientId: NAME, apiSecret: '%%CLIENT%%' }
    await addOAuthSolution(host, {
      name: NAME,
      oauth: {},
      script: `${chooseFlow(settings)}\n${BY_EMAIL}`,
      manifest: { authenticator: 'OAUTH_AUTHENTICATOR', oauth: undefined },
    })
    const secret = { value: CLIENT_SECRET, hosts: [provider.hostPort] }
    await askAdmin(host, 'PUT', `solutions/${NAME}/secrets/CLIENT`, secret, 204)
  }

  async function signIn(visitor: ReturnType<typeof comeTo>, account: string, query = ''): Promise<Page> {
    const { answer, location } = await visitor.start(query)
    const callback = await signInAtGlewlwyd(visitor.person, location, { account, from: answer.url })
    return deliver(visitor.person, callback)
  }
}

/** @returns the URL of the link on a page that redirects */
function endSessionIn({ text }: Page): string {
  return (/href="(http[^"]+)"/.exec(text)?.[1] ?? '').replaceAll('&amp;', '&')
}
