import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ACCEPTED, HOSTILE, HOSTILE_RESPONSES, HOSTILE_USER_INFO } from '../support/hostile-plays.ts'
import { failure } from '../support/misbehaving-provider.ts'
import { addOAuthSolution, comeTo, logOf } from '../support/oauth.ts'
import { CLIENT_SECRET } from '../support/oidc-provider.ts'
import { deliver, signInAtProvider } from '../support/person.ts'
import {
  ALL_WAYS,
  type Played,
  type PlayedHost,
  refusedBy,
  startPlayedHost,
  waysOf,
  whatCameOf,
} from '../support/played-sign-ins.ts'
import { askAdmin } from '../support/users.ts'

let played: PlayedHost
/** Of every sign-in of this file. */
const secrets: string[] = []

beforeAll(async () => {
  // Long enough for a busy machine: each slow answer takes it once, in all flows together.
  played = await startPlayedHost({ OAUTH_TIME: '2s' })
})
afterAll(() => played.stop())

/** What the author reads, by the case's name: the first that fits. */
const SAYS: readonly (readonly [name: RegExp, message: RegExp])[] = [
  [/^(iss|response iss)\b/, /"iss"|issuer/],
  [/^azp/, /"azp"/],
  [/^aud/, /"aud"/],
  [/^exp (long )?past/, /expired at .* this host's says/],
  [/^iat .*(future|old)/, /was issued at .* this host's says/],
  [/^nbf/, /must not be used before .* this host's says/],
  [/^(exp|iat|sub|nonce|at_hash|c_hash)\b/, /"(exp|iat|sub|nonce|at_hash|c_hash)"/],
  [/^state (wrong|empty)/, /too old, was used before, or began in another browser/],
  [/^state/, /"state"/],
  [/^code of nobody/, /the error "invalid_request"/],
  [/^(code|id_token|a code instead)/, /code|id_token/],
  [/^error with a code/, /"access_denied"/],
  [/^header (jwk|jku|x5u|crit)/, /header parameter "(jwk|jku|x5u|crit)"/],
  [/^header typ/, /"typ"/],
  [/^header|^payload (not|with)/, /not a JSON object|not strict JSON/],
  [/^kid/, /key|"kid"/],
  [/with the signature of the key|^HMAC|^algorithm (not|in|missing)|symmetric/, /its "alg" is/],
  [/part/, /has not three parts/],
  [/^(signature|algorithm|payload)/, /signature/],
  [/slow$/, /took longer than 2000 ms/],
  [/huge$/, /has more than 262144 bytes/],
  [/redirecting/, /30[37]/],
  [/500$/, /500/],
  [/HTML$/, /something else than a JSON object|content-type/],
  [/^discovery issuer/, /the discovery document must name "http.*" as issuer.*; it names/],
  [/^discovery/, /the discovery document .*"(issuer|authorization_endpoint|jwks_uri)"/],
  [/with an error/, /the error "(invalid_grant|server_error)"/],
  [/without ID token|is no text/, /no ID token|id_token number/],
  [/without access token|token type/, /"access_token"|token_type/],
  [/with a list/, /must be a top level object/],
  [/^user info/, /user info|"sub"/],
  [/100 kB/, /has \d+ characters; 32768 are possible/],
  [/^key/, /key set/],
]

function messageOf(name: string): RegExp {
  const found = SAYS.find(([pattern]) => pattern.test(name))
  if (found === undefined) throw new TypeError(`nothing says what the author reads of "${name}"`)
  return found[1]
}

function pathsOf({ requests }: Played): string[] {
  return requests.map(({ path }) => path)
}

describe.each([...HOSTILE, ...HOSTILE_USER_INFO])('$name', ({ name, flows, play, problem, needsEarlier = false }) => {
  test('is refused in each flow where it applies, with a page and a line in the log', async () => {
    const ways = waysOf(flows)
    const all = await Promise.all(ways.map((way) => played.playSignIn(way, play, { needsEarlier })))
    secrets.push(...all.flatMap((one) => one.secrets))
    // Only this one brings a code that the client cannot tell from a sound one.
    const isForeignCode = name === 'code of nobody'
    const strays = isForeignCode ? ['a code that is unknown or was used'] : []
    const ends = await Promise.all(all.map((one) => whatCameOf(one, played)))
    expect(ends).toEqual(ways.map(() => refusedBy(problem, messageOf(name), strays)))
    if (!isForeignCode && HOSTILE_RESPONSES.some((response) => response.name === name)) {
      const asked = needsEarlier ? ['/authorize'] : ['/.well-known/openid-configuration', '/authorize']
      expect(all.map(pathsOf)).toEqual(ways.map(() => asked))
    }
  })
})

async function expectSignedIn(one: Played): Promise<void> {
  const { way, stage, visitor, answer } = one
  secrets.push(...one.secrets)
  const page = `/solution/${way}/index.html?stage=${stage.name}`
  expect([way, answer.status, answer.headers.location]).toEqual([way, 303, page])
  expect((await visitor.session()).json()).toMatchObject({ username: 'anna@example.org', permissions: ['Users'] })
  expect(await whatCameOf(one, played)).toMatchObject({ session: 200, leaks: [], strays: [] })
}

describe.each(ACCEPTED.filter(({ rotates }) => rotates !== true))('$name', ({ flows, play, needsEarlier = false }) => {
  test('is accepted in each flow where it applies', async () => {
    const all = await Promise.all(waysOf(flows).map((way) => played.playSignIn(way, play, { needsEarlier })))
    for (const one of all) await expectSignedIn(one)
  })
})

test('rotated keys are accepted in each flow, at the first sign-in after the cool-down, by one request', async () => {
  await Promise.all(
    ALL_WAYS.map(async (way) => {
      const stage = played.provider.play()
      await expectSignedIn(await played.signIn(way, stage))
      stage.rotate()
      const status = async () => (await played.signIn(way, stage)).answer.status
      await expect.poll(status, { interval: 500 }).toBe(303)
      expect(stage.requests.filter(({ path }) => path === '/jwks').length).toBe(2)
      await expectSignedIn(await played.signIn(way, stage))
    }),
  )
})

test.each(ALL_WAYS)('20 sign-ins with unknown kids cause at most 3 requests for keys: %s', async (way) => {
  const stage = played.provider.play({ header: (header) => ({ ...header, kid: randomUUID() }) })
  for (let count = 0; count < 20; count++) expect((await played.signIn(way, stage)).answer.status).toBe(403)
  const requests = stage.requests.filter(({ path }) => path === '/jwks').length
  expect(requests).toBeGreaterThan(0)
  expect(requests).toBeLessThanOrEqual(3)
})

test.each([40_000, 100_000])('an ID token of %i characters, posted by a form, signs nobody in', async (padding) => {
  const play = { claims: (claims: object) => ({ ...claims, padding: 'p'.repeat(padding) }) }
  const one = await played.playSignIn('id-token-post', play)
  expect(one.answer.status).toBeGreaterThanOrEqual(400)
  expect(one.answer.status).toBeLessThan(500)
  expect(one.answer.text).toContain('href="/solution/id-token-post/index.html')
  expect((await one.visitor.session()).status).toBe(401)
  expect(one.visitor.cookie('session')).toBeUndefined()
})

const FAILED = 'https://intranet.example.org/failed?from=host'
/** Where the answer leads, be it a redirect or, after a form, a page that goes on. */
function targetOf({ answer }: Played): URL {
  const href = answer.headers.location ?? /href="(https:[^"]+)"/.exec(answer.text)?.[1]?.replaceAll('&amp;', '&')
  return new URL(href ?? 'nowhere:')
}

describe.each(ALL_WAYS)('login_failed_url: %s', (way) => {
  const query = `&failed=${encodeURIComponent(FAILED)}`

  test.each([
    ['a token that is refused', { claims: () => ({}) }, 'oauth_token'],
    ['a discovery document that cannot be had', { discovery: failure }, 'oauth_provider'],
    ['a user who declined', { authorization: declined }, 'oauth_denied'],
    ['an answer with something twice', { authorization: withIssuerTwice }, 'oauth_token'],
  ] as const)('%s leads there, with its code and the correlation id', async (_name, play, problem) => {
    const one = await played.signIn(way, played.provider.play(play), query)
    const { origin, pathname, searchParams } = targetOf(one)
    const reference = String(one.answer.headers['x-correlation-id'])
    expect(`${origin}${pathname}`).toBe('https://intranet.example.org/failed')
    expect([...searchParams]).toEqual([
      ['from', 'host'],
      ['error', problem],
      ['correlation_id', reference],
    ])
    expect(await whatCameOf(one, played)).toMatchObject({ codes: [problem], session: 401, cookies: [], leaks: [] })
  })

  test('an answer that belongs to no sign-in of this browser does not', async () => {
    const play = { authorization: (parameters: readonly (readonly [string, string])[]) => withoutState(parameters) }
    const one = await played.signIn(way, played.provider.play(play), query)
    expect(await whatCameOf(one, played)).toEqual(refusedBy('oauth_expired', /"state"/))
    expect(one.answer.text).not.toContain('intranet.example.org')
  })
})

test('login_failed_url: of the manifest counts for what this browser began, and for nothing else', async () => {
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

type Pairs = readonly (readonly [name: string, value: string])[]
const withoutState = (parameters: Pairs): Pairs => parameters.filter(([name]) => name !== 'state')
function withIssuerTwice(parameters: Pairs): Pairs {
  return [...parameters, ...parameters.filter(([name]) => name === 'iss')]
}
function declined(parameters: Pairs): Pairs {
  return [...parameters.filter(([name]) => name === 'state' || name === 'iss'), ['error', 'access_denied']]
}

test('in the end no code, token or secret stands in a log or the audit, and no request was lost', async () => {
  expect(secrets.length).toBeGreaterThan(1000)
  const logs = await Promise.all(ALL_WAYS.map((way) => logOf(played.host, way)))
  const audit = await askAdmin(played.host, 'GET', 'audit?limit=200')
  expect(JSON.stringify(audit)).toContain('oauth_token')
  const lines = `${played.host.logged()}${JSON.stringify([logs, audit])}`
  expect(secrets.filter((secret) => lines.includes(secret))).toEqual([])
  expect(played.provider.lost).toEqual([])
})
