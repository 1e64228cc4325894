import { beforeAll, expect, test } from 'vitest'
import { addSolutionOfProvider, comeTo, logOf, textOf } from '../support/oauth.ts'
import type { OidcProvider } from '../support/oidc-provider.ts'
import { deliver, signInAtProvider } from '../support/person.ts'
import { type SharedOAuthHost, sharedOAuthHost } from '../support/shared-oauth-host.ts'
import { addDefaultSolution, addUser, askAdmin, PASSWORD } from '../support/users.ts'

let provider: OidcProvider
let host: SharedOAuthHost['host']

beforeAll(async () => {
  ;({ provider, host } = await sharedOAuthHost())
  await addSolutionOfProvider(host, provider, {
    name: 'sorry',
    oauth: { login_failed_url: '/solution/sorry/media/sorry.html?a=b' },
  })
  await addDefaultSolution(host, 'plain')
})

test('a HEAD request to the redirect URL does not use up the sign-in', async () => {
  const anna = comeTo(host, 'offline')
  const { location } = await anna.start()
  const back = await signInAtProvider(anna.person, location, { account: 'anna' })
  const response = await fetch(back.url, { method: 'HEAD', redirect: 'manual' })
  expect(response.status).toBe(200)
  expect((await deliver(anna.person, back)).status).toBe(303)
})

test('during maintenance, the OAuth callback gets 503; afterwards, the same URL signs the user in', async () => {
  const anna = comeTo(host, 'offline')
  const { location } = await anna.start()
  const back = await signInAtProvider(anna.person, location, { account: 'anna' })
  await askAdmin(host, 'PUT', 'maintenance', { on: true })
  try {
    expect((await deliver(anna.person, back)).status).toBe(503)
  } finally {
    await askAdmin(host, 'PUT', 'maintenance', { on: false })
  }
  expect((await deliver(anna.person, back)).status).toBe(303)
})

test('a user who declines is sent to login_failed_url, with the error and the reference', async () => {
  const back = await comeTo(host, 'sorry').signIn({ cancel: true })
  expect(back.status).toBe(303)
  const target = new URL(back.headers.location ?? '', host.url)
  expect(target.pathname).toBe('/solution/sorry/media/sorry.html')
  expect(Object.fromEntries(target.searchParams)).toEqual({
    a: 'b',
    error: 'oauth_denied',
    correlation_id: expect.stringMatching(/^[0-9A-Z]{5}-[0-9A-Z]{5}$/),
  })
})

test('the host does not redirect to a login_failed_url that would start the sign-in again', async () => {
  await askAdmin(host, 'PUT', 'solutions/sorry/oauth', { login_failed_url: '/solution/sorry/index.html?x' })
  const back = await comeTo(host, 'sorry').signIn({ cancel: true })
  await askAdmin(host, 'DELETE', 'solutions/sorry/oauth', undefined, 204)
  expect(back.status).toBe(403)
  expect(textOf(back.text)).toContain('Try again')
})

test('an OAuth callback without a started sign-in is not redirected to login_failed_url', async () => {
  const anna = comeTo(host, 'sorry')
  const answer = await anna.person.open(`${anna.base}/app_oauth/index.html?state=x&error=access_denied`)
  expect([answer.status, answer.headers.location]).toEqual([400, undefined])
})

test('signing out after a sign-in with response mode fragment sends the ID token as a hint to the provider', async () => {
  const anna = comeTo(host, 'flows')
  await anna.signIn({}, '?flow=id-token')
  expect((await anna.logOut()).text).toContain('id_token_hint=')
})

test('a solution with a login page has no redirect URL', async () => {
  const visitor = comeTo(host, 'plain')
  for (const path of ['app_oauth/index.html', 'app_oauth/index.html?state=x&code=y']) {
    expect((await visitor.person.open(`${visitor.base}/${path}`)).status).toBe(404)
  }
  const logout = { method: 'POST', fields: [['logout_token', 'x']] } as const
  expect((await visitor.person.open(`${visitor.base}/backchannel-logout`, logout)).status).toBe(404)
})

test('a solution whose users sign in with a provider has no login form', async () => {
  const visitor = comeTo(host, 'offline')
  const answer = await visitor.person.open(`${visitor.base}/index.html`, {
    method: 'POST',
    fields: [['username', 'anna']],
    from: visitor.base,
  })
  expect([answer.status, answer.headers.allow]).toEqual([405, 'HEAD, GET'])
})

test('a user whose password changes while a script that has checked the old one runs is not signed in', async () => {
  await addSolutionOfProvider(host, provider, {
    name: 'both',
    script: `async function onSolutionOpen() {
      const user = await security.authenticate('oauth-both', '${PASSWORD}')
      application.output('checked')
      for (let n = 0; n < 1900 && (await security.getUser('oauth-both')).displayName !== 'Renewed'; n++) {
        for (const end = Date.now() + 2; Date.now() < end; );
      }
      security.login('oauth-both', user.uid, ['Users'])
    }`,
  })
  await askAdmin(host, 'PUT', 'solutions/both/grants', { databases: {}, http: [], users: true })
  const uid = await addUser(host, 'oauth-both')
  const anna = comeTo(host, 'both')
  const answer = anna.signIn()
  await expect.poll(async () => JSON.stringify(await logOf(host, 'both'))).toContain('checked')
  await askAdmin(host, 'PATCH', `users/${uid}`, { password: 'another long pass phrase', displayName: 'Renewed' })
  const { status, text } = await answer
  expect([status, textOf(text).includes('This sign-in is no longer valid')]).toEqual([400, true])
  expect((await anna.session()).status).toBe(401)
})
