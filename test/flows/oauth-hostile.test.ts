import { beforeAll, describe, expect, test } from 'vitest'
import { CLIENT_SECRET } from '../support/client-secret.ts'
import { messageOf } from '../support/hostile-messages.ts'
import { HOSTILE, HOSTILE_REFRESH, HOSTILE_USER_INFO } from '../support/hostile-plays.ts'
import type { TokenPlay } from '../support/misbehaving-provider.ts'
import { addOAuthSolution, comeTo, textOf } from '../support/oauth.ts'
import { deliver, signInAtProvider } from '../support/person.ts'
import { type PlayedHost, sharedPlayedHost } from '../support/played-host.ts'
import {
  ALL_WAYS,
  type Played,
  refusedBy,
  tellLogout,
  type Way,
  waysOf,
  whatCameOf,
} from '../support/played-sign-ins.ts'

/** One attack of each kind. test/host/oauth/hostile-*.test.ts runs all attacks in memory. */
const ONE_OF_A_KIND = [
  'signature flipped',
  'algorithm none',
  'header jku',
  'nonce wrong',
  'at_hash wrong',
  'state wrong',
  'response iss wrong',
  'id_token missing',
  'token endpoint redirecting',
  'key set huge',
  'key set with a weak key that signs',
  'discovery slow',
  'user info 500',
]
const PLAYED = [...HOSTILE, ...HOSTILE_USER_INFO].filter(({ name }) => ONE_OF_A_KIND.includes(name))

let played: PlayedHost
/** The secrets from every sign-in in this file. */
const secrets: string[] = []

beforeAll(async () => {
  played = await sharedPlayedHost()
})

test('every kind of attack is included', () => {
  expect(PLAYED.map(({ name }) => name).sort()).toEqual([...ONE_OF_A_KIND].sort())
})

describe.each(PLAYED)('$name', ({ name, flows, play, problem }) => {
  test('the attack is rejected in each flow where it applies, with an error page and a log line', async () => {
    const ways = waysOf(flows)
    const all = await Promise.all(ways.map((way) => played.playSignIn(way, play)))
    secrets.push(...all.flatMap((one) => one.secrets))
    const ends = await Promise.all(all.map((one) => whatCameOf(one, played)))
    expect(ends).toEqual(ways.map(() => refusedBy(problem, messageOf(name))))
  })
})

async function expectSignedIn(one: Played): Promise<void> {
  const { way, page, visitor, answer } = one
  secrets.push(...one.secrets)
  expect([way, answer.status, answer.headers.location]).toEqual([way, 303, page])
  expect((await visitor.session()).json()).toMatchObject({ username: 'anna@example.org', permissions: ['Users'] })
  expect(await whatCameOf(one, played)).toMatchObject({ session: 200, leaks: [], strays: [] })
}

test.each(ALL_WAYS)('a sign-in with an honest provider succeeds: %s', async (way) => {
  await expectSignedIn(await played.playSignIn(way, {}))
})

const FAILED = 'https://intranet.example.org/failed?from=host'

test('login_failed_url: the URL in the manifest is used only if this browser started the sign-in', async () => {
  const { host, provider } = played
  const stage = provider.play({ claims: (claims) => ({ ...claims, nonce: 'another' }) })
  const oauth = { api: 'Custom', issuer: stage.issuer, clientId: 'one', apiSecret: CLIENT_SECRET }
  await addOAuthSolution(host, { name: 'failing', oauth: { ...oauth, login_failed_url: FAILED } })
  const anna = comeTo(host, 'failing')
  const { location } = await anna.start()
  const back = await signInAtProvider(anna.person, location, { account: 'anna' })
  const foreign = comeTo(host, 'failing')
  for (const url of [back.url, back.url.replace(/&state=[^&]*/, ''), `${back.url}&state=x`]) {
    const answer = await foreign.person.open(url)
    expect([answer.status, answer.headers.location]).toEqual([400, undefined])
    expect(answer.text).toContain('href="/solution/failing/index.html"')
    expect(answer.text).not.toContain('intranet.example.org')
  }
  const answer = await deliver(anna.person, back)
  expect(answer.headers.location).toMatch(
    /^https:\/\/intranet\.example\.org\/failed\?from=host&error=oauth_token&correlation_id=./,
  )
})

test.each(HOSTILE_REFRESH.filter(({ name }) => ['refresh with another sub', 'refresh 500'].includes(name)))(
  '$name: the next visit of a remembered user has the same result as in the tests without a host',
  async ({ play, effect }) => {
    const stage = played.provider.play({ refresh: play })
    const { visitor } = await played.signIn('query', stage)
    const cookie = visitor.cookie('remember')
    expect(cookie).toBeDefined()
    visitor.person.close()
    const page = await visitor.open(`?stage=${stage.name}`)
    expect(page.status).toBe(effect === 'refused' ? 302 : 502)
    expect(visitor.cookie('remember')).toBe(effect === 'refused' ? undefined : cookie)
    expect((await visitor.session()).status).toBe(401)
    stage.change({})
    if (effect === 'away') {
      expect(textOf((await visitor.open(`?stage=${stage.name}`)).text)).toContain('Signed in as anna@example.org')
    } else expect((await visitor.signIn({}, `?stage=${stage.name}`)).status).toBe(303)
  },
)

const named = (more: object): TokenPlay => ({ claims: (claims) => ({ ...claims, ...more }) })
const tell = (way: Way, ...tokens: readonly string[]) => tellLogout(played, way, ...tokens)

test.each(ALL_WAYS)('back-channel logout: %s', async (way) => {
  const stage = played.provider.play()
  const [anna, phone] = [await played.signIn(way, stage), await played.signIn(way, stage)]
  const statuses = async () => [(await anna.visitor.session()).status, (await phone.visitor.session()).status]
  expect(await statuses()).toEqual([200, 200])
  const refused = await tell(way, stage.logoutToken(named({ nonce: 'a-nonce' })))
  expect([refused.status, refused.json()]).toEqual([
    400,
    { error: 'invalid_request', error_description: 'The logout token was rejected.' },
  ])
  expect(refused.headers['cache-control']).toContain('no-store')
  expect(await statuses()).toEqual([200, 200])
  const token = stage.logoutToken()
  const answer = await tell(way, token)
  expect([answer.status, answer.text]).toEqual([200, ''])
  await expect.poll(statuses).toEqual([401, 401])
  expect((await tell(way, token)).status).toBe(400)
  expect(stage.strays()).toEqual([])
})

test('back-channel logout: a missing token, and a token of 100 kB, are rejected', async () => {
  const stage = played.provider.play()
  expect((await tell('query')).status).toBe(400)
  expect((await tell('query', stage.logoutToken(named({ padding: 'p'.repeat(75_000) })))).status).toBe(413)
})

test('after all attacks, no log or audit log contains a code, token or secret, and no request was lost', async () => {
  expect(secrets.length).toBeGreaterThan(100)
  const logs = await played.linesOf(played.solutionOf('query'))
  const audit = await played.audited()
  expect(audit).toContain('oauth_token')
  const lines = `${played.host.logged()}${JSON.stringify(logs)}${audit}`
  expect(secrets.filter((secret) => lines.includes(secret))).toEqual([])
  expect(played.provider.lost).toEqual([])
})
