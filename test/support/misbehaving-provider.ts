import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { JWK } from 'jose'
import { CLIENT_SECRET } from './client-secret.ts'
import { halfHash, type Json, makeSigningKey, type SigningKey, signToken } from './forged-tokens.ts'

/**
 * An OpenID provider that is correct except where a scenario (a "play") makes it misbehave. All scenarios use the same
 * address, but each has its own issuer. What a client caches for one scenario therefore doesn't affect another.
 */
export type PlayedProvider = {
  readonly base: string
  /** The provider's host and port (`127.0.0.1:PORT`), as an entry for `OAUTH_ALLOWED_HOSTS`. */
  readonly hostPort: string
  readonly play: (play?: Play) => Stage
  /** Requests whose path belongs to no scenario, such as `GET /p1x/jwks`. */
  readonly lost: readonly string[]
  readonly answer: (request: ProviderRequest) => Reply
}

export type MisbehavingProvider = PlayedProvider & { readonly stop: () => Promise<void> }

export type ProviderRequest = {
  readonly method: string
  readonly url: URL
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

export type Stage = {
  /** The last part of the issuer's path, such as `p7`. */
  readonly name: string
  readonly issuer: string
  readonly clientId: string
  /** Every request whose path is under the issuer, oldest first. */
  readonly requests: StageRequest[]
  /** Every code and token that the provider has issued, oldest first. */
  readonly given: readonly string[]
  /**
   * Requests that a correct client never sends, such as a wrong method, an unknown path, a used code or a wrong secret.
   */
  readonly strays: () => string[]
  /** Replaces the scenario, but keeps the issuer. */
  readonly change: (play: Play) => void
  /**
   * Signs tokens with a new key from now on. The key set contains the new key. With `keepsOld`, it still contains the
   * old one too.
   */
  readonly rotate: (options?: { readonly keepsOld?: boolean }) => void
  /** How far the provider's clock is ahead, in ms. */
  readonly clock: { offset: number }
  /** Creates a logout token. It is valid except for these changes. */
  readonly logoutToken: (changes?: TokenPlay) => string
}

export type StageRequest = {
  readonly method: string
  /** A path under the issuer, such as `/token`. */
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: IncomingHttpHeaders
  readonly fields: URLSearchParams
  status?: number
}

/** Functions that change how a signed token is created. */
export type TokenPlay = {
  readonly header?: (header: Json, scene: Scene) => Json
  readonly claims?: (claims: Json, scene: Scene) => Json
  /** Replaces the function that signs the header and claims. */
  readonly sign?: (header: Json, claims: Json, scene: Scene) => string
  /** Changes the signed token. */
  readonly token?: (token: string, scene: Scene) => string
}

export type Pairs = readonly (readonly [name: string, value: string])[]

export type Play = TokenPlay & {
  readonly discovery?: (document: Json, scene: Scene) => Reply
  readonly keySet?: (keys: readonly JWK[], scene: Scene) => Reply
  readonly authorization?: (parameters: Pairs, scene: Scene) => Pairs
  readonly tokenEndpoint?: (answer: Json, scene: Scene) => Reply
  readonly userInfo?: (claims: Json, scene: Scene) => Reply
  /** Replaces the properties above when the client uses a refresh token. */
  readonly refresh?: TokenPlay & { readonly tokenEndpoint?: (answer: Json, scene: Scene) => Reply }
}

/** The data that a scenario's functions can use. */
export type Scene = {
  readonly issuer: string
  readonly clientId: string
  readonly account: string
  readonly keys: Keys
  /** The provider's time, in epoch seconds. */
  readonly now: number
  readonly nonce: string | null
  /** The nonce of the previous login with the same issuer. */
  readonly earlierNonce: string | null
  /** The authorization code for which the ID token is issued, or null. */
  readonly code: string | null
  /** Returns a URL at this provider that no correct client requests. */
  readonly trap: (name: string) => string
}

export type Keys = {
  /** The key that signs tokens. */
  readonly current: SigningKey
  /** A key that is not in any key set. */
  readonly foreign: SigningKey
  readonly elliptic: SigningKey
  readonly weak: SigningKey
}

export type Reply = {
  readonly status: number
  readonly type: string
  readonly body: string
  readonly headers?: Record<string, string>
  /** Whether the response never ends. After the body, the provider sends a space from time to time. */
  readonly isEndless?: boolean
}

export const json = (value: unknown, status = 200): Reply => ({
  status,
  type: 'application/json',
  body: JSON.stringify(value),
})
export const html = (): Reply => ({ status: 200, type: 'text/html', body: '<!doctype html><p>Hello</p>' })
export const failure = (): Reply => ({ status: 500, type: 'application/json', body: '{"error":"server_error"}' })
/** A response with valid content, followed by spaces that never end. */
export const slow = (value: unknown): Reply => ({ ...json(value), isEndless: true })
/** A response with 2 MB of spaces before the valid content. */
export const huge = (value: unknown): Reply => {
  const { body, ...rest } = json(value)
  return { ...rest, body: `${' '.repeat(2_000_000)}${body}` }
}
export const redirectTo = (address: string): Reply => ({
  status: 307,
  type: 'text/plain',
  body: '',
  headers: { location: address },
})

const ENDPOINTS: Readonly<Record<string, readonly string[]>> = {
  '/.well-known/openid-configuration': ['GET'],
  '/authorize': ['GET'],
  '/jwks': ['GET'],
  '/token': ['POST'],
  '/userinfo': ['GET', 'POST'],
  '/revoke': ['POST'],
  '/logout': ['GET'],
}

/** The time between two spaces of an endless response, in ms. */
const DRIP = 20

/** The keys of all providers in this worker. They are created only once, because creating an RSA key is slow. */
let pool: { readonly signing: readonly SigningKey[]; readonly others: Omit<Keys, 'current'> } | undefined

/** Creates a provider without a server. Tests pass requests to its function `answer`. */
export function createPlayedProvider(hostPort: string, clientId = 'one'): PlayedProvider {
  pool ??= {
    signing: [makeSigningKey('RS256'), makeSigningKey('RS256')],
    others: {
      foreign: makeSigningKey('RS256'),
      elliptic: makeSigningKey('ES256'),
      weak: makeSigningKey('RS256', { bits: 1024 }),
    },
  }
  const { signing, others } = pool
  const base = `http://${hostPort}`
  const lost: string[] = []
  const stages = new Map<string, (request: StageRequest) => Reply>()
  return {
    base,
    hostPort,
    lost,
    play(first = {}) {
      const name = `p${stages.size + 1}`
      const { stage, answer } = createStage({ name, issuer: `${base}/${name}`, clientId, signing, others, first })
      stages.set(name, answer)
      return stage
    },
    answer({ method, url, headers, body }) {
      const [, name = '', path = ''] = /^\/(p\d+)(\/.*)?$/.exec(url.pathname) ?? []
      const stage = stages.get(name)
      if (stage !== undefined) {
        return stage({ method, path, query: url.searchParams, headers, fields: new URLSearchParams(body) })
      }
      lost.push(`${method} ${url.pathname}`)
      return { status: 404, type: 'text/plain', body: '' }
    },
  }
}

/** Starts the provider with an HTTP server. The caller stops it. */
export async function startMisbehavingProvider(): Promise<MisbehavingProvider> {
  const server = createServer(async (request, response) => {
    const { method = '', headers } = request
    const url = new URL(request.url ?? '/', provider.base)
    send(response, provider.answer({ method, url, headers, body: await readAll(request) }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const provider = createPlayedProvider(`127.0.0.1:${(server.address() as AddressInfo).port}`)
  return {
    ...provider,
    async stop() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      server.closeAllConnections()
      await closed
    },
  }
}

type Login = {
  readonly account: string
  readonly nonce: string | null
  readonly earlierNonce: string | null
  readonly challenge: string | null
  readonly redirectUri: string
  readonly scope: string
}

type StageMaking = {
  readonly name: string
  readonly issuer: string
  readonly clientId: string
  readonly signing: readonly SigningKey[]
  readonly others: Omit<Keys, 'current'>
  readonly first: Play
}

function createStage({ name, issuer, clientId, signing, others, first }: StageMaking) {
  const requests: StageRequest[] = []
  const faults: string[] = []
  const given: string[] = []
  const codes = new Map<string, Login>()
  const refreshTokens = new Map<string, Login>()
  const accessTokens = new Map<string, Login>()
  const clock = { offset: 0 }
  let play = first
  let lastNonce: string | null = null
  let round = 0
  let published = [signingKey()]

  /** Returns a signing key with a new id. */
  function signingKey(): SigningKey {
    const key = signing[round % signing.length]
    if (key === undefined) throw new TypeError('there are no keys')
    const kid = `${key.kid}-${name}-${round}`
    return { ...key, kid, jwk: { ...key.jwk, kid } }
  }

  function sceneOf(login: Login | null, code: string | null = null): Scene {
    const current = signingKey()
    return {
      issuer,
      clientId,
      account: login?.account ?? 'anna',
      keys: { ...others, current },
      now: Math.floor((Date.now() + clock.offset) / 1000),
      nonce: login?.nonce ?? null,
      earlierNonce: login?.earlierNonce ?? null,
      code,
      trap: (trapName) => `${issuer}/trap/${trapName}`,
    }
  }

  function tokenOf(kind: { typ: string; claims: Json }, changes: TokenPlay, scene: Scene): string {
    const { current } = scene.keys
    const plain = { alg: current.alg, kid: current.kid, typ: kind.typ }
    const header = changes.header?.(plain, scene) ?? plain
    const claims = changes.claims?.(kind.claims, scene) ?? kind.claims
    const signed = changes.sign?.(header, claims, scene) ?? signToken(header, claims, current)
    const token = changes.token?.(signed, scene) ?? signed
    given.push(token)
    return token
  }

  function idToken(changes: TokenPlay, login: Login, code: string | null, accessToken: string | null): string {
    const scene = sceneOf(login, code)
    const { now } = scene
    const claims: Json = {
      iss: issuer,
      aud: clientId,
      ...userOf(login.account),
      iat: now,
      exp: now + 300,
      ...(login.nonce === null ? {} : { nonce: login.nonce }),
      ...(accessToken === null ? {} : { at_hash: halfHash(accessToken) }),
    }
    return tokenOf({ typ: 'JWT', claims }, changes, scene)
  }

  function tokensOf(login: Login, changes: TokenPlay, code: string | null): Json {
    const accessToken = randomBytes(24).toString('base64url')
    const refreshToken = randomBytes(24).toString('base64url')
    accessTokens.set(accessToken, login)
    refreshTokens.set(refreshToken, login)
    given.push(accessToken, refreshToken)
    return {
      access_token: accessToken,
      token_type: 'Bearer',
      expires_in: 300,
      refresh_token: refreshToken,
      id_token: idToken(changes, login, code, accessToken),
      scope: login.scope,
    }
  }

  function discovery(): Reply {
    const document = {
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      jwks_uri: `${issuer}/jwks`,
      userinfo_endpoint: `${issuer}/userinfo`,
      revocation_endpoint: `${issuer}/revoke`,
      end_session_endpoint: `${issuer}/logout`,
      response_types_supported: ['code', 'id_token'],
      response_modes_supported: ['query', 'fragment', 'form_post'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['RS256'],
      token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'],
      code_challenge_methods_supported: ['S256'],
      authorization_response_iss_parameter_supported: true,
      backchannel_logout_supported: true,
    }
    return play.discovery?.(document, sceneOf(null)) ?? json(document)
  }

  function keySet(): Reply {
    const keys = published.map(({ jwk }) => jwk)
    return play.keySet?.(keys, sceneOf(null)) ?? json({ keys })
  }

  /** Redirects back to the client immediately, without a sign-in or consent page. */
  function authorize({ query }: StageRequest): Reply {
    const redirectUri = query.get('redirect_uri')
    const type = query.get('response_type')
    if (redirectUri === null || query.get('client_id') !== clientId || (type !== 'code' && type !== 'id_token')) {
      return refuse('an authorization request without redirect_uri, client or known response_type')
    }
    const isCode = type === 'code'
    const challenge = query.get('code_challenge')
    if (isCode && (challenge === null || query.get('code_challenge_method') !== 'S256')) {
      return refuse('a code flow without PKCE S256')
    }
    const nonce = query.get('nonce')
    if (!isCode && nonce === null) return refuse('an id_token flow without nonce')
    const account = query.get('login_hint') ?? 'anna'
    const scope = query.get('scope') ?? ''
    const login = { account, nonce, earlierNonce: lastNonce, challenge, redirectUri, scope }
    lastNonce = nonce
    const code = randomBytes(16).toString('base64url')
    if (isCode) {
      codes.set(code, login)
      given.push(code)
    }
    const parameters: Pairs = [
      isCode ? ['code', code] : ['id_token', idToken(play, login, null, null)],
      ...(query.has('state') ? [['state', query.get('state') ?? ''] as const] : []),
      ['iss', issuer],
    ]
    const altered = play.authorization?.(parameters, sceneOf(login, isCode ? code : null)) ?? parameters
    return goBack(redirectUri, query.get('response_mode') ?? (isCode ? 'query' : 'fragment'), altered)
  }

  function token({ headers, fields }: StageRequest): Reply {
    if (!hasSecret(headers, fields, clientId)) return refuse('a token request with a wrong secret', 401)
    if (fields.get('grant_type') === 'refresh_token') {
      const given = fields.get('refresh_token') ?? ''
      const login = refreshTokens.get(given)
      if (login === undefined) return json({ error: 'invalid_grant' }, 400)
      const changes = play.refresh ?? play
      // After a refresh, the ID token needs no nonce (OIDC Core 12.2).
      const answer = tokensOf({ ...login, nonce: null }, changes, null)
      const reply = changes.tokenEndpoint?.(answer, sceneOf(login)) ?? json(answer)
      // If the response contains a new refresh token, the old one becomes invalid.
      if (reply.body.includes(String(answer.refresh_token))) refreshTokens.delete(given)
      return reply
    }
    const code = fields.get('code') ?? ''
    const login = codes.get(code)
    codes.delete(code)
    const digest = createHash('sha256').update(fields.get('code_verifier') ?? '')
    if (login === undefined) return refuse('a code that is unknown or was used')
    if (login.challenge !== digest.digest('base64url')) return refuse('a wrong code_verifier')
    if (login.redirectUri !== fields.get('redirect_uri')) return refuse('another redirect_uri')
    const answer = tokensOf(login, play, code)
    return play.tokenEndpoint?.(answer, sceneOf(login, code)) ?? json(answer)
  }

  function userInfo({ headers }: StageRequest): Reply {
    const login = accessTokens.get(/^Bearer (.+)$/i.exec(headers.authorization ?? '')?.[1] ?? '')
    if (login === undefined) return refuse('user info without a valid access token', 401)
    const claims = userOf(login.account)
    return play.userInfo?.(claims, sceneOf(login)) ?? json(claims)
  }

  function refuse(fault: string, status = 400): Reply {
    faults.push(fault)
    return json({ error: 'invalid_request', error_description: fault }, status)
  }

  function answerTo(request: StageRequest): Reply {
    if (!(ENDPOINTS[request.path] ?? []).includes(request.method)) return json({}, 404)
    if (request.path === '/authorize') return authorize(request)
    if (request.path === '/token') return token(request)
    if (request.path === '/userinfo') return userInfo(request)
    if (request.path === '/jwks') return keySet()
    if (request.path === '/revoke') return json({})
    if (request.path === '/logout') return signOut(request)
    return discovery()
  }

  function answer(request: StageRequest): Reply {
    requests.push(request)
    const reply = answerTo(request)
    request.status = reply.status
    return reply
  }

  const stage: Stage = {
    name,
    issuer,
    clientId,
    requests,
    given,
    clock,
    strays: () => [
      ...requests
        .filter(({ method, path }) => !(ENDPOINTS[path] ?? []).includes(method))
        .map(({ method, path }) => `${method} ${path}`),
      ...faults,
    ],
    change(next) {
      play = next
    },
    rotate({ keepsOld = false } = {}) {
      round++
      published = [signingKey(), ...(keepsOld ? published : [])]
    },
    logoutToken(changes = {}) {
      const scene = sceneOf(null)
      const { now } = scene
      const claims: Json = {
        iss: issuer,
        aud: clientId,
        iat: now,
        exp: now + 120,
        jti: randomUUID(),
        sub: userOf(scene.account).sub,
        events: { 'http://schemas.openid.net/event/backchannel-logout': {} },
      }
      return tokenOf({ typ: 'logout+jwt', claims }, changes, scene)
    },
  }
  return { stage, answer }
}

/** Returns the claims about the account with this name. */
export function userOf(account: string): Json {
  return { sub: `sub-of-${account}`, email: `${account}@example.org`, email_verified: true, name: `Name of ${account}` }
}

function goBack(redirectUri: string, mode: string, parameters: Pairs): Reply {
  const encoded = parameters.map((pair) => new URLSearchParams([[...pair]]).toString()).join('&')
  if (mode !== 'form_post') {
    const mark = mode === 'fragment' ? '#' : redirectUri.includes('?') ? '&' : '?'
    return { ...redirectTo(`${redirectUri}${mark}${encoded}`), status: 303 }
  }
  const inputs = parameters.map(
    ([field, value]) => `<input type="hidden" name="${attribute(field)}" value="${attribute(value)}">`,
  )
  const form = `<form method="post" action="${attribute(redirectUri)}">${inputs.join('')}</form>`
  return {
    status: 200,
    type: 'text/html; charset=utf-8',
    body: `<!doctype html><title>One moment</title>${form}<script>document.forms[0].submit()</script>`,
  }
}

function signOut({ query }: StageRequest): Reply {
  const target = query.get('post_logout_redirect_uri')
  if (target === null) return { ...html(), body: '<p>Signed out</p>' }
  const url = new URL(target)
  if (query.has('state')) url.searchParams.set('state', query.get('state') ?? '')
  return { ...redirectTo(url.href), status: 303 }
}

function send(response: ServerResponse, { status, type, body, headers, isEndless = false }: Reply): void {
  response.writeHead(status, { 'content-type': type, ...headers })
  if (!isEndless) {
    response.end(body)
    return
  }
  response.write(body)
  const drip = setInterval(() => response.write(' '), DRIP)
  response.once('close', () => clearInterval(drip))
}

function hasSecret(headers: IncomingHttpHeaders, fields: URLSearchParams, clientId: string): boolean {
  const basic = /^Basic (.+)$/i.exec(headers.authorization ?? '')?.[1]
  if (basic === undefined) return fields.get('client_id') === clientId && fields.get('client_secret') === CLIENT_SECRET
  const [id, secret] = Buffer.from(basic, 'base64').toString().split(':').map(decodeURIComponent)
  return id === clientId && secret === CLIENT_SECRET
}

function attribute(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}

async function readAll(request: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of request) text += String(chunk)
  return text
}
