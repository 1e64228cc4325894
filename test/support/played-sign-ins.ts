import { expect } from 'vitest'
import { OAUTH_PROBLEMS, type OAuthProblemCode } from '../../host/oauth/problems.ts'
import { CLIENT_SECRET } from './client-secret.ts'
import type { TestHost } from './host.ts'
import type { Flow } from './hostile-plays.ts'
import type { ask } from './http.ts'
import type { Play, PlayedProvider, Stage, StageRequest } from './misbehaving-provider.ts'
import { comeTo, type Visitor } from './oauth.ts'
import { type Callback, createPerson, deliver, type Fields, type Page, signInAtProvider } from './person.ts'

/** The OAuth flows and response modes that the host supports, with their settings. */
export const WAYS = {
  query: { flow: 'query', oauth: {} },
  'form-post': { flow: 'form_post', oauth: { response_mode: 'form_post' } },
  fragment: { flow: 'fragment', oauth: { response_mode: 'fragment' } },
  'id-token': { flow: 'id_token', oauth: { response_type: 'id_token' } },
  'id-token-post': { flow: 'id_token', oauth: { response_type: 'id_token', response_mode: 'form_post' } },
} as const satisfies Record<string, { readonly flow: Flow; readonly oauth: Record<string, string> }>

export type Way = keyof typeof WAYS

export const ALL_WAYS = Object.keys(WAYS) as readonly Way[]

export function waysOf(flows: readonly Flow[]): readonly Way[] {
  return ALL_WAYS.filter((way) => flows.includes(WAYS[way].flow))
}

/** Everything about one complete sign-in with a simulated issuer. */
export type Played = {
  readonly way: Way
  readonly solution: string
  /** The path and query of the page that the user requested. */
  readonly page: string
  readonly stage: Stage
  readonly visitor: Visitor
  /** The host's last response: a redirect to the requested page, or an error page. */
  readonly answer: Page
  /** The requests that the provider received during this sign-in. */
  readonly requests: readonly StageRequest[]
  /**
   * Secrets that must not appear in logs or pages: the received codes and tokens, the client secret and the PKCE
   * verifier.
   */
  readonly secrets: readonly string[]
}

/** Where the sign-ins run: on a host with a server, or in memory. */
export type PlayedPlace = {
  readonly host: Pick<TestHost, 'url' | 'logged'>
  readonly provider: PlayedProvider
  readonly ask: typeof ask
  /** Returns the solution whose users sign in with this flow. Its pages accept the query parameter `way`. */
  readonly solutionOf: (way: Way) => string
  readonly linesOf: (solution: string) => Promise<readonly PlayedLine[]>
  readonly audited: () => Promise<string>
}

export type PlayedLine = { readonly message: string; readonly code?: string; readonly correlationId?: string }

export type PlayedSignIns = PlayedPlace & {
  readonly signIn: (way: Way, stage: Stage, query?: string) => Promise<Played>
  /**
   * Creates an issuer for the scenario and signs in. With `needsEarlier`, first signs in normally in another browser.
   */
  readonly playSignIn: (way: Way, play: Play, options?: { readonly needsEarlier?: boolean }) => Promise<Played>
}

/** Returns the OAuth settings for a flow. They lack the issuer, which the URL's query parameter `stage` selects. */
export function settingsOf(way: Way): Record<string, string> {
  return { api: 'Custom', clientId: 'one', apiSecret: '%%CLIENT%%', ...WAYS[way].oauth }
}

export function signInsAt(place: PlayedPlace): PlayedSignIns {
  const { host, provider } = place

  async function signIn(way: Way, stage: Stage, more = ''): Promise<Played> {
    const solution = place.solutionOf(way)
    const visitor = comeTo(host, solution, createPerson({}, place.ask))
    const query = `?stage=${stage.name}&way=${way}${more}`
    const page = `/solution/${solution}/index.html${query}`
    const [asked, given] = [stage.requests.length, stage.given.length]
    const { answer: sent, location } = await visitor.start(query)
    const isSent = sent.status === 302
    const callback = isSent
      ? await signInAtProvider(visitor.person, location, { account: 'anna', from: visitor.base })
      : null
    const answer = callback === null ? sent : await deliver(visitor.person, callback)
    const requests = stage.requests.slice(asked)
    const verifiers = requests.map(({ fields }) => fields.get('code_verifier') ?? '')
    const all = [...stage.given.slice(given), ...secretsOf(callback), ...verifiers, CLIENT_SECRET]
    return { way, solution, page, stage, visitor, answer, requests, secrets: all.filter((secret) => secret !== '') }
  }

  return {
    ...place,
    signIn,
    async playSignIn(way, play, { needsEarlier = false } = {}) {
      const stage = provider.play(needsEarlier ? {} : play)
      if (needsEarlier) await signIn(way, stage)
      stage.change(play)
      return signIn(way, stage)
    },
  }
}

/** Sends logout tokens to the host like a provider's server: without cookies and browser headers. */
export function tellLogout(
  { host, ask, solutionOf }: PlayedPlace,
  way: Way,
  ...tokens: readonly string[]
): Promise<Page> {
  const fields: Fields = tokens.map((token) => ['logout_token', token] as const)
  const headers = { accept: '*/*', 'sec-fetch-site': '', 'sec-fetch-mode': '', 'sec-fetch-dest': '', origin: '' }
  const address = `${host.url}/solution/${solutionOf(way)}/backchannel-logout`
  return createPerson(headers, ask).open(address, { method: 'POST', fields })
}

function secretsOf(callback: Callback | null): readonly string[] {
  if (callback === null) return []
  const { search, hash } = new URL(callback.url)
  const pairs = [...new URLSearchParams(search), ...new URLSearchParams(hash.slice(1)), ...callback.fields]
  return pairs.filter(([name]) => name === 'code' || name === 'id_token').map(([, value]) => value)
}

/**
 * Summarises what the user and the solution's author see after a sign-in. For a sign-in that was rejected correctly,
 * this equals the result of `refusedBy`.
 */
export async function whatCameOf(played: Played, { linesOf }: Pick<PlayedPlace, 'linesOf'>) {
  const { solution, visitor, answer, secrets, stage, requests } = played
  const reference = String(answer.headers['x-correlation-id'])
  const lines = (await linesOf(solution)).filter(({ correlationId }) => correlationId === reference)
  const written = lines.map(({ message }) => message).join('\n')
  const shown = [written, answer.text, JSON.stringify(answer.headers)]
  return {
    status: answer.status,
    codes: lines.map(({ code }) => code),
    hasWayOn: answer.text.includes(`href="/solution/${solution}/index.html`),
    showsReference: answer.text.includes(reference),
    session: (await visitor.session()).status,
    cookies: visitor.cookieNames().filter((name) => !name.startsWith('oauth-')),
    leaks: secrets.filter((secret) => shown.some((text) => text.includes(secret))),
    strays: [...stage.strays(), ...unsoundIn(requests, secrets)],
    message: written,
  }
}

export function refusedBy(problem: OAuthProblemCode, message: RegExp, strays: readonly string[] = []) {
  return {
    status: OAUTH_PROBLEMS[problem].status,
    codes: [problem],
    hasWayOn: true,
    showsReference: true,
    session: 401,
    cookies: [],
    leaks: [],
    strays,
    message: expect.stringMatching(message),
  }
}

/** The paths of a correct client's requests, in order. Each request is sent only once. */
const STEPS = ['/.well-known/openid-configuration', '/authorize', '/token', '/jwks', '/userinfo']

/** Finds requests that are out of order or repeated, and codes and tokens sent to the wrong place. */
export function unsoundIn(requests: readonly StageRequest[], secrets: readonly string[]): string[] {
  const found: string[] = []
  let last = -1
  for (const { method, path, query, headers, fields } of requests) {
    const step = STEPS.indexOf(path)
    if (step <= last) found.push(`${method} ${path} out of order`)
    last = step
    const { authorization: _, ...others } = headers
    const bare = ['/token', '/userinfo', '/revoke'].includes(path) ? others : headers
    const open = JSON.stringify([[...query], bare, ['/token', '/revoke'].includes(path) ? [] : [...fields]])
    if (secrets.some((secret) => secret !== '' && open.includes(secret))) found.push(`${method} ${path} with a secret`)
  }
  return found
}
