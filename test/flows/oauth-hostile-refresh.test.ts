import { afterAll, beforeAll, expect, test } from 'vitest'
import { ACCEPTED_REFRESH, HOSTILE_REFRESH } from '../support/hostile-plays.ts'
import type { Play, Stage } from '../support/misbehaving-provider.ts'
import { logOf, textOf } from '../support/oauth.ts'
import type { Page } from '../support/person.ts'
import { type PlayedHost, startPlayedHost, unsoundIn } from '../support/played-sign-ins.ts'

let played: PlayedHost

beforeAll(async () => {
  // Without grace each use of a remembered login asks the provider.
  played = await startPlayedHost({ OAUTH_TIME: '2s', REMEMBER_GRACE: '1ms' })
})
afterAll(() => played.stop())

/** Somebody who signed in soundly, and closed the browser. */
async function remembered(play: Play) {
  const stage = played.provider.play(play)
  const { visitor, answer } = await played.signIn('query', stage)
  expect(answer.status).toBe(303)
  const cookie = visitor.cookie('remember')
  expect(cookie).toBeDefined()
  visitor.person.close()
  return { stage, visitor, cookie, open: () => visitor.open(`?stage=${stage.name}`) }
}

function leadsToProvider({ status, headers }: Page, { issuer }: Stage): boolean {
  return status === 302 && headers.location?.startsWith(`${issuer}/authorize?`) === true
}

async function linesOf(page: Page) {
  const reference = String(page.headers['x-correlation-id'])
  return (await logOf(played.host, 'query')).filter(({ correlationId }) => correlationId === reference)
}

/** Requests since `from` that a sound client does not make, and where a token was written down. */
async function wrongSince(from: number, page: Page, stage: Stage): Promise<string[]> {
  const written = `${played.host.logged()}${JSON.stringify(await linesOf(page))}${page.text}`
  const leaks = stage.given.filter((secret) => secret !== '' && written.includes(secret))
  return [...stage.strays(), ...unsoundIn(stage.requests.slice(from), stage.given), ...leaks]
}

test.each(HOSTILE_REFRESH.filter(({ effect }) => effect === 'refused'))(
  '$name: the remembered login ends, and the user signs in anew',
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
    // invalid_grant is the provider's own way to say so: nothing is wrong with it.
    const codes = name === 'refresh with invalid_grant' ? [] : ['oauth_token']
    expect((await linesOf(page)).map(({ code }) => code)).toEqual(codes)
    expect(await wrongSince(from, page, stage)).toEqual([])
    stage.change({})
    expect((await visitor.signIn({}, `?stage=${stage.name}`)).status).toBe(303)
    expect((await visitor.session()).json()).toMatchObject({ username: 'anna@example.org' })
  },
)

test.each(HOSTILE_REFRESH.filter(({ effect }) => effect === 'away'))(
  '$name: a page says so, and the remembered login stays as it was',
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
    // With these the refresh token was used up, and the next one was in what did not come.
    if (['refresh slow', 'refresh huge'].includes(name)) expect(leadsToProvider(next, stage)).toBe(true)
    else expect(textOf(next.text)).toContain('Signed in as anna@example.org')
  },
)

test.each(ACCEPTED_REFRESH)('$name: the user comes in again and again', async ({ play }) => {
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
