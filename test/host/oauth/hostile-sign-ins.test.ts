import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { messageOf } from '../../support/hostile-messages.ts'
import {
  ACCEPTED,
  ACCEPTED_REFRESH,
  HOSTILE,
  HOSTILE_REFRESH,
  HOSTILE_RESPONSES,
  HOSTILE_USER_INFO,
} from '../../support/hostile-plays.ts'
import { failure, type Play, type Stage } from '../../support/misbehaving-provider.ts'
import { textOf } from '../../support/oauth.ts'
import type { Page } from '../../support/person.ts'
import { createPlayedInMemory } from '../../support/played-in-memory.ts'
import { ALL_WAYS, type Played, refusedBy, unsoundIn, waysOf, whatCameOf } from '../../support/played-sign-ins.ts'

let played: Awaited<ReturnType<typeof createPlayedInMemory>>
/** The secrets of all sign-ins in this file. */
const secrets: string[] = []

/** Advances the clock, which otherwise doesn't move. */
function pass(milliseconds: number): void {
  vi.setSystemTime(Date.now() + milliseconds)
}

beforeAll(async () => {
  vi.useFakeTimers({ toFake: ['Date'] })
  // The grace period is so short that the host asks the provider at each use of a remembered login.
  played = await createPlayedInMemory({ OAUTH_TIME: 2000, REMEMBER_GRACE: 1 })
})
afterAll(async () => {
  await played.stop()
  vi.useRealTimers()
})

function pathsOf({ requests }: Played): string[] {
  return requests.map(({ path }) => path)
}

describe.each([...HOSTILE, ...HOSTILE_USER_INFO])('$name', ({ name, flows, play, problem, needsEarlier = false }) => {
  test('the attack is rejected in each flow where it applies, with a page and a log line', async () => {
    const ways = waysOf(flows)
    const all = await Promise.all(ways.map((way) => played.playSignIn(way, play, { needsEarlier })))
    secrets.push(...all.flatMap((one) => one.secrets))
    // Only this attack delivers a code that the client cannot distinguish from a valid one.
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
  const { way, page, visitor, answer } = one
  secrets.push(...one.secrets)
  expect([way, answer.status, answer.headers.location]).toEqual([way, 303, page])
  expect((await visitor.session()).json()).toMatchObject({ username: 'anna@example.org', permissions: ['Users'] })
  expect(await whatCameOf(one, played)).toMatchObject({ session: 200, leaks: [], strays: [] })
}

describe.each(ACCEPTED.filter(({ rotates }) => rotates !== true))('$name', ({ flows, play, needsEarlier = false }) => {
  test('the unusual but valid response is accepted in each flow where it applies', async () => {
    const all = await Promise.all(waysOf(flows).map((way) => played.playSignIn(way, play, { needsEarlier })))
    for (const one of all) await expectSignedIn(one)
  })
})

test.each(ALL_WAYS)(
  'rotated keys are accepted at the first sign-in after the cool-down, with one request: %s',
  async (way) => {
    const stage = played.provider.play()
    await expectSignedIn(await played.signIn(way, stage))
    stage.rotate()
    pass(4999)
    expect((await played.signIn(way, stage)).answer.status).toBe(403)
    pass(1)
    await expectSignedIn(await played.signIn(way, stage))
    expect(stage.requests.filter(({ path }) => path === '/jwks').length).toBe(2)
    await expectSignedIn(await played.signIn(way, stage))
  },
)

test.each(ALL_WAYS)('20 sign-ins with unknown key IDs ("kid") cause at most 3 JWKS requests: %s', async (way) => {
  const stage = played.provider.play({ header: (header) => ({ ...header, kid: randomUUID() }) })
  for (let count = 0; count < 20; count++) expect((await played.signIn(way, stage)).answer.status).toBe(403)
  const requests = stage.requests.filter(({ path }) => path === '/jwks').length
  expect(requests).toBeGreaterThan(0)
  expect(requests).toBeLessThanOrEqual(3)
})

test.each([40_000, 100_000])(
  'an ID token of %i characters posted by a form does not sign anybody in',
  async (padding) => {
    const play = { claims: (claims: object) => ({ ...claims, padding: 'p'.repeat(padding) }) }
    const one = await played.playSignIn('id-token-post', play)
    expect(one.answer.status).toBeGreaterThanOrEqual(400)
    expect(one.answer.status).toBeLessThan(500)
    expect(one.answer.text).toContain('href="/solution/id-token-post/index.html')
    expect((await one.visitor.session()).status).toBe(401)
    expect(one.visitor.cookie('session')).toBeUndefined()
  },
)

const FAILED = 'https://intranet.example.org/failed?from=host'
/**
 * @returns the URL that the response sends the browser to: a redirect's target or, if the provider posted a form, the
 * link on the page
 */
function targetOf({ answer }: Played): URL {
  const href = answer.headers.location ?? /href="(https:[^"]+)"/.exec(answer.text)?.[1]?.replaceAll('&amp;', '&')
  return new URL(href ?? 'nowhere:')
}

describe.each(ALL_WAYS)('login_failed_url: %s', (way) => {
  const query = `&failed=${encodeURIComponent(FAILED)}`

  test.each([
    ['a token that is rejected', { claims: () => ({}) }, 'oauth_token'],
    ['a discovery document that cannot be fetched', { discovery: failure }, 'oauth_provider'],
    ['a user who declines', { authorization: declined }, 'oauth_denied'],
    ['a response with a repeated parameter', { authorization: withIssuerTwice }, 'oauth_token'],
  ] as const)(
    '%s causes a redirect to it, with the error code and the correlation id',
    async (_name, play, problem) => {
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
    },
  )

  test('a response that matches no sign-in in this browser causes no redirect', async () => {
    const play = { authorization: (parameters: readonly (readonly [string, string])[]) => withoutState(parameters) }
    const one = await played.signIn(way, played.provider.play(play), query)
    expect(await whatCameOf(one, played)).toEqual(refusedBy('oauth_expired', /"state"/))
    expect(one.answer.text).not.toContain('intranet.example.org')
  })
})

type Pairs = readonly (readonly [name: string, value: string])[]
const withoutState = (parameters: Pairs): Pairs => parameters.filter(([name]) => name !== 'state')
function withIssuerTwice(parameters: Pairs): Pairs {
  return [...parameters, ...parameters.filter(([name]) => name === 'iss')]
}
function declined(parameters: Pairs): Pairs {
  return [...parameters.filter(([name]) => name === 'state' || name === 'iss'), ['error', 'access_denied']]
}

/** Simulates a user who signed in normally and then closed the browser. */
async function remembered(play: Play) {
  const stage = played.provider.play(play)
  const { visitor, answer } = await played.signIn('query', stage)
  expect(answer.status).toBe(303)
  const cookie = visitor.cookie('remember')
  expect(cookie).toBeDefined()
  visitor.person.close()
  const open = () => {
    pass(2)
    return visitor.open(`?stage=${stage.name}`)
  }
  return { stage, visitor, cookie, open }
}

function leadsToProvider({ status, headers }: Page, { issuer }: Stage): boolean {
  return status === 302 && headers.location?.startsWith(`${issuer}/authorize?`) === true
}

async function linesOf(page: Page) {
  const reference = String(page.headers['x-correlation-id'])
  return (await played.linesOf('query')).filter(({ correlationId }) => correlationId === reference)
}

/** Finds requests since `from` that a correct client would not send, and secrets in the page or in a log. */
async function wrongSince(from: number, page: Page, stage: Stage): Promise<string[]> {
  const written = `${played.host.logged()}${JSON.stringify(await linesOf(page))}${page.text}`
  const leaks = stage.given.filter((secret) => secret !== '' && written.includes(secret))
  return [...stage.strays(), ...unsoundIn(stage.requests.slice(from), stage.given), ...leaks]
}

test.each(HOSTILE_REFRESH.filter(({ effect }) => effect === 'refused'))(
  '$name: the remembered login ends, and the user signs in again',
  async ({ name, play, userInfo }) => {
    const { stage, visitor, open } = await remembered({
      refresh: play,
      ...(userInfo === undefined ? {} : { userInfo }),
    })
    const from = stage.requests.length
    const page = await open()
    expect(leadsToProvider(page, stage)).toBe(true)
    expect(visitor.cookie('remember')).toBeUndefined()
    expect((await visitor.session()).status).toBe(401)
    // A provider responds with invalid_grant to end a sign-in, so this is not an error.
    const codes = name === 'refresh with invalid_grant' ? [] : ['oauth_token']
    expect((await linesOf(page)).map(({ code }) => code)).toEqual(codes)
    expect(await wrongSince(from, page, stage)).toEqual([])
    stage.change({})
    expect((await visitor.signIn({}, `?stage=${stage.name}`)).status).toBe(303)
    expect((await visitor.session()).json()).toMatchObject({ username: 'anna@example.org' })
  },
)

test.each(HOSTILE_REFRESH.filter(({ effect }) => effect === 'away'))(
  '$name: a page reports the failure, and the remembered login stays unchanged',
  async ({ name, play }) => {
    const { stage, visitor, cookie, open } = await remembered({ refresh: play })
    const from = stage.requests.length
    const page = await open()
    expect([page.status, page.headers['retry-after']]).toEqual([502, '5'])
    expect(page.text).toContain(`href="/solution/query/index.html?stage=${stage.name}"`)
    expect(page.text).toContain(String(page.headers['x-correlation-id']))
    expect(visitor.cookie('remember')).toBe(cookie)
    expect((await visitor.session()).status).toBe(401)
    expect((await linesOf(page)).map(({ code }) => code)).toEqual(['oauth_provider'])
    expect(await wrongSince(from, page, stage)).toEqual([])
    stage.change({})
    const next = await open()
    // The provider had replaced the refresh token, but the host rejected the response with the new one. So the user
    // must sign in again.
    if (['refresh slow', 'refresh huge'].includes(name)) expect(leadsToProvider(next, stage)).toBe(true)
    else expect(textOf(next.text)).toContain('Signed in as anna@example.org')
  },
)

test.each(ACCEPTED_REFRESH)('$name: the user stays remembered and can return repeatedly', async ({ play }) => {
  const { stage, visitor, open } = await remembered({ refresh: play })
  for (let time = 1; time <= 3; time++) {
    const from = stage.requests.length
    const page = await open()
    expect(textOf(page.text)).toContain('Signed in as anna@example.org')
    expect((await visitor.session()).status).toBe(200)
    expect(await wrongSince(from, page, stage)).toEqual([])
    visitor.person.close()
  }
  const refreshes = stage.requests.filter(({ fields }) => fields.get('grant_type') === 'refresh_token')
  expect(refreshes.length).toBe(3)
})

test('after all tests, neither a log nor the audit log contains a code, token or secret, and every request got a response', async () => {
  expect(secrets.length).toBeGreaterThan(1000)
  const logs = await Promise.all(ALL_WAYS.map((way) => played.linesOf(way)))
  const audit = await played.audited()
  expect(audit).toContain('oauth_token')
  const lines = `${played.host.logged()}${JSON.stringify(logs)}${audit}`
  expect(secrets.filter((secret) => lines.includes(secret))).toEqual([])
  expect(played.provider.lost).toEqual([])
})
