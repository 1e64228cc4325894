import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { BAD_LOGOUT_TOKENS } from '../../support/hostile-plays.ts'
import type { Stage, TokenPlay } from '../../support/misbehaving-provider.ts'
import { createPlayedInMemory } from '../../support/played-in-memory.ts'
import { ALL_WAYS, type Played, tellLogout, type Way } from '../../support/played-sign-ins.ts'

let played: Awaited<ReturnType<typeof createPlayedInMemory>>

/** Advances the clock, which otherwise doesn't move. */
function pass(milliseconds: number): void {
  vi.setSystemTime(Date.now() + milliseconds)
}

beforeAll(async () => {
  vi.useFakeTimers({ toFake: ['Date'] })
  played = await createPlayedInMemory()
})
afterAll(async () => {
  await played.stop()
  vi.useRealTimers()
})

const tell = (way: Way, ...tokens: readonly string[]) => tellLogout(played, way, ...tokens)

async function statusOf({ visitor }: Played): Promise<number> {
  return (await visitor.session()).status
}

async function signedIn(way: Way, stage: Stage): Promise<Played> {
  const one = await played.signIn(way, stage)
  expect(await statusOf(one)).toBe(200)
  return one
}

const without = (...names: readonly string[]): NonNullable<TokenPlay['claims']> => {
  return (claims) => Object.fromEntries(Object.entries(claims).filter(([name]) => !names.includes(name)))
}
const named = (more: object) => ({ claims: (claims: object) => ({ ...claims, ...more }) })

test('there are at least 19 kinds of invalid logout tokens', () => {
  expect(BAD_LOGOUT_TOKENS.length).toBeGreaterThanOrEqual(19)
})

describe.each(ALL_WAYS)('back-channel logout: %s', (way) => {
  let stage: Stage
  let anna: Played

  beforeAll(async () => {
    stage = played.provider.play()
    anna = await signedIn(way, stage)
  })

  test.each(BAD_LOGOUT_TOKENS)(
    'a token with the error "$name" is rejected, and the session stays',
    async ({ changes }) => {
      const token = stage.logoutToken(changes)
      const answer = await tell(way, token)
      expect([answer.status, answer.json()]).toEqual([
        400,
        { error: 'invalid_request', error_description: 'The logout token was rejected.' },
      ])
      expect(answer.headers['cache-control']).toContain('no-store')
      expect(await statusOf(anna)).toBe(200)
      const reference = answer.headers['x-correlation-id']
      const lines = (await played.linesOf(way)).filter(({ correlationId }) => correlationId === reference)
      expect(lines).toMatchObject([{ code: expect.stringMatching(/^oauth_(token|clock)$/) }])
      expect(lines[0]?.message).toMatch(/^a logout token was rejected: ./)
      if (token !== '') expect(JSON.stringify(lines)).not.toContain(token)
      expect(stage.strays()).toEqual([])
    },
  )

  test('a valid token ends the sessions of all browsers within a second, and works once', async () => {
    const phone = await signedIn(way, stage)
    const token = stage.logoutToken()
    const answer = await tell(way, token)
    expect([answer.status, answer.text]).toEqual([200, ''])
    pass(1000)
    expect([await statusOf(anna), await statusOf(phone)]).toEqual([401, 401])
    // Tokens contain times in whole seconds. So a token that was issued in the same second may be older than the
    // sign-in.
    const again = await signedIn(way, stage)
    expect((await tell(way, token)).status).toBe(400)
    expect(await statusOf(again)).toBe(200)
    expect(stage.strays()).toEqual([])
  })

  test('all invalid tokens together caused at most three requests for keys', () => {
    expect(stage.requests.filter(({ path }) => path === '/jwks').length).toBeLessThanOrEqual(3)
  })
})

test('a logout token for one of the provider’s sessions ends only that session', async () => {
  const stage = played.provider.play(named({ sid: 'at-home' }))
  const home = await signedIn('query', stage)
  stage.change(named({ sid: 'at-work' }))
  const work = await signedIn('query', stage)
  const ofHome = stage.logoutToken({ claims: (claims, scene) => without('sub')({ ...claims, sid: 'at-home' }, scene) })
  expect((await tell('query', ofHome)).status).toBe(200)
  pass(1000)
  expect(await statusOf(home)).toBe(401)
  expect(await statusOf(work)).toBe(200)
})

test('a logout token for another user, solution or provider ends nobody else’s session', async () => {
  const stage = played.provider.play()
  const anna = await signedIn('query', stage)
  expect((await tell('query', stage.logoutToken(named({ sub: 'sub-of-bram' })))).status).toBe(200)
  expect(await statusOf(anna)).toBe(200)
  // Nobody has signed in to the solution `fragment` with this provider.
  expect((await tell('fragment', stage.logoutToken())).status).toBe(400)
  expect(await statusOf(anna)).toBe(200)
  const other = played.provider.play()
  await signedIn('query', other)
  expect((await tell('query', other.logoutToken())).status).toBe(200)
  expect(await statusOf(anna)).toBe(200)
})

test('a missing token, two tokens and a token of 100 kB are rejected', async () => {
  const stage = played.provider.play()
  const anna = await signedIn('query', stage)
  const two = [stage.logoutToken(), stage.logoutToken()] as const
  expect((await tell('query')).status).toBe(400)
  expect((await tell('query', ...two)).status).toBe(400)
  expect((await tell('query', stage.logoutToken(named({ padding: 'p'.repeat(40_000) })))).status).toBe(400)
  expect((await tell('query', stage.logoutToken(named({ padding: 'p'.repeat(75_000) })))).status).toBe(413)
  expect(await statusOf(anna)).toBe(200)
  // The rejected request did not use up either of the two tokens.
  expect((await tell('query', two[1])).status).toBe(200)
  pass(1000)
  expect(await statusOf(anna)).toBe(401)
})
