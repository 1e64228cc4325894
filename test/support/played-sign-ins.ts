import { expect } from 'vitest'
import { OAUTH_PROBLEMS, type OAuthProblemCode } from '../../host/oauth/problems.ts'
import type { TestHost } from './host.ts'
import type { Flow } from './hostile-plays.ts'
import {
  type MisbehavingProvider,
  type Play,
  type Stage,
  type StageRequest,
  startMisbehavingProvider,
} from './misbehaving-provider.ts'
import { addOAuthSolution, comeTo, logOf, startOAuthHost, type Visitor } from './oauth.ts'
import { CLIENT_SECRET } from './oidc-provider.ts'
import { type Callback, deliver, type Page, signInAtProvider } from './person.ts'
import { askAdmin } from './users.ts'

/** The flows of a host, each a solution of this name: an ID token comes back in the fragment, or by a form. */
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

/** One sign-in at a stage, to its end. */
export type Played = {
  readonly way: Way
  readonly stage: Stage
  readonly visitor: Visitor
  /** The last answer of the host: a redirect to the page that was wanted, or why not. */
  readonly answer: Page
  /** Of this sign-in alone. */
  readonly requests: readonly StageRequest[]
  /** What must be read nowhere: codes and tokens as they came, the client's secret, the verifier. */
  readonly secrets: readonly string[]
}

export type PlayedHost = {
  readonly host: TestHost
  readonly provider: MisbehavingProvider
  readonly signIn: (way: Way, stage: Stage, query?: string) => Promise<Played>
  /** The same with a new stage for a play; a sound login of another browser comes first if it is needed. */
  readonly playSignIn: (way: Way, play: Play, options?: { readonly needsEarlier?: boolean }) => Promise<Played>
  readonly stop: () => Promise<void>
}

/** A host whose solutions choose the stage by the query parameter `stage`, and a misbehaving provider. */
export async function startPlayedHost(properties: Record<string, string> = {}): Promise<PlayedHost> {
  const provider = await startMisbehavingProvider()
  const host = await startOAuthHost([provider], properties)
  for (const [name, { oauth }] of Object.entries(WAYS)) {
    const configuration = { api: 'Custom', clientId: 'one', apiSecret: '%%CLIENT%%', ...oauth }
    const script = `function getOAuthConfig(q) {
      const configuration = ${JSON.stringify(configuration)}
      configuration.issuer = '${provider.base}/' + q.stage
      if (q.failed) configuration.login_failed_url = q.failed
      return configuration
    }
    function onSolutionOpen(arg, q) {
      const { email, email_verified, iss, sub } = q.last_login
      if (email_verified) security.login(email, iss + '#' + sub.slice(0, 50), ['Users'])
    }`
    await addOAuthSolution(host, {
      name,
      oauth: {},
      script,
      manifest: { authenticator: 'OAUTH_AUTHENTICATOR', oauth: undefined },
    })
    const secret = { value: CLIENT_SECRET, hosts: [provider.hostPort] }
    await askAdmin(host, 'PUT', `solutions/${name}/secrets/CLIENT`, secret, 204)
  }

  async function signIn(way: Way, stage: Stage, query = ''): Promise<Played> {
    const visitor = comeTo(host, way)
    const [asked, given] = [stage.requests.length, stage.given.length]
    const { answer: sent, location } = await visitor.start(`?stage=${stage.name}${query}`)
    const isSent = sent.status === 302
    const callback = isSent
      ? await signInAtProvider(visitor.person, location, { account: 'anna', from: visitor.base })
      : null
    const answer = callback === null ? sent : await deliver(visitor.person, callback)
    const requests = stage.requests.slice(asked)
    const verifiers = requests.map(({ fields }) => fields.get('code_verifier') ?? '')
    const all = [...stage.given.slice(given), ...secretsOf(callback), ...verifiers, CLIENT_SECRET]
    return { way, stage, visitor, answer, requests, secrets: all.filter((secret) => secret !== '') }
  }

  return {
    host,
    provider,
    signIn,
    async playSignIn(way, play, { needsEarlier = false } = {}) {
      const stage = provider.play(needsEarlier ? {} : play)
      if (needsEarlier) await signIn(way, stage)
      stage.change(play)
      return signIn(way, stage)
    },
    async stop() {
      await host.stop()
      await provider.stop()
    },
  }
}

function secretsOf(callback: Callback | null): readonly string[] {
  if (callback === null) return []
  const { search, hash } = new URL(callback.url)
  const pairs = [...new URLSearchParams(search), ...new URLSearchParams(hash.slice(1)), ...callback.fields]
  return pairs.filter(([name]) => name === 'code' || name === 'id_token').map(([, value]) => value)
}

/** What became of a sign-in, as people and the author see it. Equal to `refusedBy` for one that was refused well. */
export async function whatCameOf(played: Played, { host }: PlayedHost) {
  const { way, visitor, answer, secrets, stage, requests } = played
  const reference = String(answer.headers['x-correlation-id'])
  const lines = (await logOf(host, way)).filter(({ correlationId }) => correlationId === reference)
  const written = lines.map(({ message }) => message).join('\n')
  const shown = [written, answer.text, JSON.stringify(answer.headers)]
  return {
    status: answer.status,
    codes: lines.map(({ code }) => code),
    hasWayOn: answer.text.includes(`href="/solution/${way}/index.html`),
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

/** In the order in which a sound client asks, each once. */
const STEPS = ['/.well-known/openid-configuration', '/authorize', '/token', '/jwks', '/userinfo']

/** Requests out of their order or a second time, and codes and tokens that went elsewhere than where they belong. */
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
