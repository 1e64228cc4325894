import type { OAuthProblemCode } from '../../host/oauth/problems.ts'
import { CLIENT_SECRET } from './client-secret.ts'
import {
  encode,
  halfHash,
  type Json,
  partsOf,
  publicPem,
  signatureOf,
  signToken,
  signWithSecret,
} from './forged-tokens.ts'
import {
  failure,
  html,
  huge,
  json,
  type Pairs,
  type Play,
  redirectTo,
  type Scene,
  slow,
  type TokenPlay,
} from './misbehaving-provider.ts'

/**
 * How the browser returns from the provider: with a code in one of three response modes, or with an ID token in the
 * URL's fragment.
 */
export type Flow = 'query' | 'form_post' | 'fragment' | 'id_token'

export type FlowCase = {
  readonly name: string
  readonly flows: readonly Flow[]
  readonly play: Play
  /** Whether the test signs in normally with the same issuer before the attack. */
  readonly needsEarlier?: boolean
}

export type HostileCase = FlowCase & {
  /** The error that the sign-in must fail with. */
  readonly problem: OAuthProblemCode
}

const CODE: readonly Flow[] = ['query', 'form_post', 'fragment']
const ALL: readonly Flow[] = [...CODE, 'id_token']
const HOUR = 3600
const DAY = 24 * HOUR

/** Replaces claims of a valid token. The value `undefined` removes a claim. */
const claims =
  (changes: (scene: Scene) => Json): NonNullable<TokenPlay['claims']> =>
  (sound, scene) =>
    JSON.parse(JSON.stringify({ ...sound, ...changes(scene) })) as Json

const header =
  (changes: (scene: Scene) => Json): NonNullable<TokenPlay['header']> =>
  (sound, scene) =>
    JSON.parse(JSON.stringify({ ...sound, ...changes(scene) })) as Json

/** Signs a token with a key that is not in the provider's key set. */
const signedByForeign: NonNullable<TokenPlay['sign']> = (head, body, { keys }) => signToken(head, body, keys.foreign)

const withSecret =
  (secretOf: (scene: Scene) => string): NonNullable<TokenPlay['sign']> =>
  (head, body, scene) =>
    signWithSecret({ ...head, alg: 'HS256' }, body, secretOf(scene))

const unsigned =
  (alg: string): NonNullable<TokenPlay['sign']> =>
  (head, body) =>
    `${encode({ ...head, alg })}.${encode(body)}.`

/** Tokens with an invalid signature or header. Each is tested both as an ID token and as a logout token. */
const SIGNED: readonly { readonly name: string; readonly play: Play }[] = [
  {
    name: 'signature flipped',
    play: {
      token: (token) => {
        const [head, body, signature] = partsOf(token)
        const bytes = Buffer.from(signature, 'base64url')
        bytes[10] = (bytes[10] ?? 0) ^ 1
        return `${head}.${body}.${bytes.toString('base64url')}`
      },
    },
  },
  { name: 'signature of another key', play: { sign: signedByForeign } },
  { name: 'signature empty', play: { token: (token) => token.replace(/[^.]*$/, '') } },
  { name: 'signature part missing', play: { token: (token) => token.replace(/\.[^.]*$/, '') } },
  ...['none', 'None', 'NONE', 'nOnE'].flatMap((alg) => [
    { name: `algorithm ${alg}`, play: { sign: unsigned(alg) } },
    {
      name: `algorithm ${alg} with the signature of the key`,
      play: { sign: (head: Json, body: Json, { keys }: Scene) => signToken({ ...head, alg }, body, keys.current) },
    },
  ]),
  { name: 'HMAC with the public key as PEM', play: { sign: withSecret(({ keys }) => publicPem(keys.current)) } },
  {
    name: 'HMAC with the public key as JWK',
    play: { sign: withSecret(({ keys }) => JSON.stringify(keys.current.jwk)) },
  },
  { name: 'HMAC with the client secret', play: { sign: withSecret(() => CLIENT_SECRET) } },
  {
    name: 'algorithm not registered',
    play: {
      sign: (head, body, { keys }) => signToken({ ...head, alg: 'ES256', kid: keys.elliptic.kid }, body, keys.elliptic),
      keySet: (keys, scene) => json({ keys: [...keys, scene.keys.elliptic.jwk] }),
    },
  },
  { name: 'algorithm in lower case', play: { header: header(() => ({ alg: 'rs256' })) } },
  { name: 'algorithm missing', play: { header: header(() => ({ alg: undefined })) } },
  {
    name: 'payload swapped',
    play: {
      token: (token) => {
        const [head, body, signature] = partsOf(token)
        const sound = JSON.parse(Buffer.from(body, 'base64url').toString()) as Json
        return `${head}.${encode({ ...sound, sub: 'sub-of-bram', email: 'bram@example.org' })}.${signature}`
      },
    },
  },
  { name: 'kid unknown', play: { header: header(() => ({ kid: 'nobody-has-this-key' })) } },
  {
    name: 'kid missing with many keys',
    play: {
      header: header(() => ({ kid: undefined })),
      keySet: (keys, scene) => json({ keys: [...keys, scene.keys.foreign.jwk] }),
    },
  },
  { name: 'kid like a path', play: { header: header(() => ({ kid: '../../../../../dev/null' })) } },
  { name: 'kid like an address', play: { header: header(({ trap }) => ({ kid: trap('kid') })) } },
  { name: 'kid a number', play: { header: header(() => ({ kid: 1 })) } },
  {
    name: 'header jwk',
    play: { header: header(({ keys }) => ({ jwk: keys.foreign.jwk, kid: undefined })), sign: signedByForeign },
  },
  {
    name: 'header jwk beside the right key',
    play: { header: header(({ keys }) => ({ jwk: keys.current.jwk })) },
  },
  { name: 'header jku', play: { header: header(({ trap }) => ({ jku: trap('jku') })), sign: signedByForeign } },
  { name: 'header jku beside the right key', play: { header: header(({ trap }) => ({ jku: trap('jku') })) } },
  { name: 'header x5u', play: { header: header(({ trap }) => ({ x5u: trap('x5u') })), sign: signedByForeign } },
  { name: 'header x5u beside the right key', play: { header: header(({ trap }) => ({ x5u: trap('x5u') })) } },
  { name: 'header crit unknown', play: { header: header(() => ({ crit: ['tenant'], tenant: 'north' })) } },
  { name: 'header typ of another kind', play: { header: header(() => ({ typ: 'at+jwt' })) } },
  { name: 'header a list', play: { sign: (_head, body, { keys }) => signToken([], body, keys.current) } },
  { name: 'payload not JSON', play: { sign: (head, _body, { keys }) => signToken(head, 'not JSON', keys.current) } },
  {
    name: 'payload with a claim twice',
    play: {
      sign: (head, body, { keys }) =>
        signToken(head, JSON.stringify(body).replace('{', '{"sub":"sub-of-bram",'), keys.current),
    },
  },
  {
    name: 'a fourth part',
    play: { token: (token, { keys }) => `${token}.${signatureOf(token, keys.current)}` },
  },
]

const KEY_SETS: readonly HostileCase[] = (
  [
    ['key set empty', () => json({ keys: [] }), 'oauth_provider'],
    ['key set not a list', () => json({ keys: {} }), 'oauth_provider'],
    ['key set 500', failure, 'oauth_provider'],
    ['key set HTML', html, 'oauth_provider'],
    ['key set slow', (keys) => slow({ keys }), 'oauth_provider'],
    ['key set huge', (keys) => huge({ keys }), 'oauth_provider'],
    ['key set redirecting', (_keys, { trap }) => redirectTo(trap('keys')), 'oauth_provider'],
  ] as const satisfies readonly (readonly [string, NonNullable<Play['keySet']>, OAuthProblemCode])[]
).map(([name, keySet, problem]) => ({ name, flows: ALL, play: { keySet }, problem }))

const WEAK_KEYS: readonly HostileCase[] = [
  {
    name: 'key set with a weak key that signs',
    flows: ALL,
    play: {
      sign: (head, body, { keys }) => signToken({ ...head, kid: keys.weak.kid }, body, keys.weak),
      keySet: (_keys, scene) => json({ keys: [scene.keys.weak.jwk] }),
    },
    problem: 'oauth_provider',
  },
  {
    name: 'key set with a symmetric key that signs',
    flows: ALL,
    play: {
      sign: (head, body) => signWithSecret({ ...head, alg: 'HS256', kid: 'shared' }, body, CLIENT_SECRET),
      keySet: () =>
        json({
          keys: [{ kty: 'oct', kid: 'shared', alg: 'HS256', k: Buffer.from(CLIENT_SECRET).toString('base64url') }],
        }),
    },
    problem: 'oauth_token',
  },
  {
    name: 'key that is for encryption',
    flows: ALL,
    play: { keySet: (keys) => json({ keys: keys.map((key) => ({ ...key, use: 'enc' })) }) },
    problem: 'oauth_provider',
  },
]

const CLAIM_CHANGES: readonly (readonly [name: string, changes: (scene: Scene) => Json, problem?: OAuthProblemCode])[] =
  [
    ['iss wrong', () => ({ iss: 'https://provider.example' })],
    ['iss missing', () => ({ iss: undefined })],
    ['iss with a slash at its end', ({ issuer }) => ({ iss: `${issuer}/` })],
    ['iss a prefix', ({ issuer }) => ({ iss: issuer.slice(0, -1) })],
    ['iss with a suffix', ({ issuer }) => ({ iss: `${issuer}.example.org` })],
    ['iss a list', ({ issuer }) => ({ iss: [issuer] })],
    ['aud wrong', () => ({ aud: 'two' })],
    ['aud missing', () => ({ aud: undefined })],
    ['aud empty', () => ({ aud: '' })],
    ['aud an empty list', () => ({ aud: [] })],
    ['aud with a foreign one in the list', ({ clientId }) => ({ aud: [clientId, 'two'], azp: clientId })],
    ['azp foreign', () => ({ azp: 'two' })],
    ['azp foreign with aud a list', ({ clientId }) => ({ aud: [clientId], azp: 'two' })],
    ['exp long past', ({ now }) => ({ exp: now - 30 * DAY, iat: now })],
    ['exp past', ({ now }) => ({ exp: now - HOUR }), 'oauth_clock'],
    ['exp missing', () => ({ exp: undefined })],
    ['exp a text', ({ now }) => ({ exp: String(now + 300) })],
    ['iat missing', () => ({ iat: undefined })],
    ['iat a text', ({ now }) => ({ iat: String(now) })],
    ['iat in the future', ({ now }) => ({ iat: now + HOUR, exp: now + 2 * HOUR }), 'oauth_clock'],
    ['iat far in the future', ({ now }) => ({ iat: now + 30 * DAY, exp: now + 31 * DAY })],
    ['iat some hours old', ({ now }) => ({ iat: now - 5 * HOUR }), 'oauth_clock'],
    ['iat two days old', ({ now }) => ({ iat: now - 2 * DAY })],
    ['nbf in the future', ({ now }) => ({ nbf: now + HOUR }), 'oauth_clock'],
    ['nonce wrong', () => ({ nonce: 'another-nonce-than-the-one-sent' })],
    ['nonce missing', () => ({ nonce: undefined })],
    ['nonce a list', ({ nonce }) => ({ nonce: [nonce] })],
    ['sub missing', () => ({ sub: undefined })],
    ['sub empty', () => ({ sub: '' })],
    ['sub a number', () => ({ sub: 7 })],
    ['sub of 10,000 characters', () => ({ sub: 's'.repeat(10_000) })],
  ]

const CLAIMS: readonly HostileCase[] = CLAIM_CHANGES.map(([name, changes, problem = 'oauth_token']) => ({
  name,
  flows: ALL,
  play: { claims: claims(changes) },
  problem,
}))

const CODE_CLAIMS: readonly HostileCase[] = [
  {
    // Not for ID tokens in the fragment: the redirect would exceed the maximum size of response headers.
    name: 'claims of 100 kB',
    flows: CODE,
    play: { claims: claims(() => ({ padding: 'p'.repeat(100_000) })) },
    problem: 'oauth_token',
  },
  {
    name: 'at_hash wrong',
    flows: CODE,
    play: { claims: claims(() => ({ at_hash: halfHash('another access token') })) },
    problem: 'oauth_token',
  },
  {
    name: 'c_hash wrong',
    flows: CODE,
    play: { claims: claims(() => ({ c_hash: halfHash('another code') })) },
    problem: 'oauth_token',
  },
]

const without = (name: string) => (parameters: Pairs) => parameters.filter(([one]) => one !== name)
const replaced = (name: string, value: (scene: Scene) => string) => (parameters: Pairs, scene: Scene) =>
  parameters.map(([one, was]) => [one, one === name ? value(scene) : was] as const)
const twice = (name: string) => (parameters: Pairs) => [...parameters, ...parameters.filter(([one]) => one === name)]
const added =
  (...pairs: Pairs) =>
  (parameters: Pairs) => [...parameters, ...pairs]

/**
 * Malicious authorization responses. The host rejects them before it sends a request to the provider, unless they
 * contain a code that looks valid.
 */
export const HOSTILE_RESPONSES: readonly HostileCase[] = (
  [
    ['state wrong', ALL, replaced('state', () => 'a-state-that-nobody-sent'), 'oauth_expired'],
    ['state missing', ALL, without('state'), 'oauth_expired'],
    ['state empty', ALL, replaced('state', () => ''), 'oauth_expired'],
    ['state twice', ALL, twice('state'), 'oauth_expired'],
    ['response iss wrong', ALL, replaced('iss', () => 'https://provider.example'), 'oauth_token'],
    ['response iss with a slash', ALL, replaced('iss', ({ issuer }) => `${issuer}/`), 'oauth_token'],
    ['response iss dropped', CODE, without('iss'), 'oauth_token'],
    ['response iss twice', ALL, twice('iss'), 'oauth_token'],
    ['code twice', CODE, twice('code'), 'oauth_token'],
    ['code two of them', CODE, added(['code', 'another-code']), 'oauth_token'],
    ['code missing', CODE, without('code'), 'oauth_token'],
    ['code empty', CODE, replaced('code', () => ''), 'oauth_token'],
    ['code of nobody', CODE, replaced('code', () => 'a-code-that-nobody-gave'), 'oauth_token'],
    ['id_token missing', ['id_token'], without('id_token'), 'oauth_token'],
    ['id_token twice', ['id_token'], twice('id_token'), 'oauth_token'],
    ['error with a code', ALL, added(['error', 'access_denied']), 'oauth_denied'],
    [
      'a code instead of an ID token',
      ['id_token'],
      (parameters: Pairs) =>
        parameters.map(([name, value]) =>
          name === 'id_token' ? (['code', 'some-code'] as const) : ([name, value] as const),
        ),
      'oauth_token',
    ],
  ] as const satisfies readonly (readonly [
    string,
    readonly Flow[],
    NonNullable<Play['authorization']>,
    OAuthProblemCode,
  ])[]
).map(([name, flows, authorization, problem]) => ({ name, flows, play: { authorization }, problem }))

const TOKEN_ENDPOINTS: readonly (readonly [
  name: string,
  tokenEndpoint: NonNullable<Play['tokenEndpoint']>,
  problem?: OAuthProblemCode,
])[] = [
  ['token endpoint 500', failure],
  ['token endpoint HTML', html],
  ['token endpoint slow', (answer) => slow(answer)],
  ['token endpoint huge', (answer) => huge(answer)],
  ['token endpoint redirecting', (_answer, { trap }) => redirectTo(trap('token'))],
  ['token endpoint redirecting by GET', (_answer, { trap }) => ({ ...redirectTo(trap('token')), status: 303 })],
  ['token endpoint 200 with an error', () => json({ error: 'invalid_grant' }), 'oauth_token'],
  ['token endpoint 200 with an error and tokens', (answer) => json({ ...answer, error: 'server_error' })],
  ['token endpoint with a list', (answer) => json([answer])],
  ['token endpoint without ID token', ({ id_token: _, ...answer }) => json(answer), 'oauth_token'],
  ['token endpoint with an ID token that is not a text', (answer) => json({ ...answer, id_token: 7 })],
  ['token endpoint without access token', ({ access_token: _, ...answer }) => json(answer)],
  ['token endpoint with a token type of another kind', (answer) => json({ ...answer, token_type: 'mac' })],
]

const DISCOVERY: readonly HostileCase[] = (
  [
    ['discovery issuer differs', (document) => json({ ...document, issuer: 'https://provider.example' })],
    ['discovery issuer with a slash', (document, { issuer }) => json({ ...document, issuer: `${issuer}/` })],
    ['discovery issuer a prefix', (document, { issuer }) => json({ ...document, issuer: issuer.slice(0, -1) })],
    ['discovery without issuer', ({ issuer: _, ...document }) => json(document)],
    ['discovery 500', failure],
    ['discovery HTML', html],
    ['discovery slow', (document) => slow(document)],
    ['discovery huge', (document) => huge(document)],
    ['discovery redirecting', (_document, { trap }) => redirectTo(trap('discovery'))],
    ['discovery without authorization endpoint', ({ authorization_endpoint: _, ...document }) => json(document)],
    [
      'discovery with a script as authorization endpoint',
      (document) => json({ ...document, authorization_endpoint: 'javascript:alert(1)' }),
    ],
    [
      'discovery with keys on an internal host',
      (document) => json({ ...document, jwks_uri: 'http://169.254.169.254/latest/meta-data' }),
    ],
  ] as const satisfies readonly (readonly [string, NonNullable<Play['discovery']>])[]
).map(([name, discovery]) => ({ name, flows: ALL, play: { discovery }, problem: 'oauth_provider' }))

/** Omit the email from the ID token, so the host must send a UserInfo request. */
const withoutEmail = claims(() => ({ email: undefined, email_verified: undefined, name: undefined }))

/** Attacks on the UserInfo request. */
export const HOSTILE_USER_INFO: readonly HostileCase[] = (
  [
    ['user info of another sub', (user) => json({ ...user, sub: 'sub-of-bram' }), 'oauth_token'],
    ['user info without sub', ({ sub: _, ...user }) => json(user), 'oauth_provider'],
    ['user info 500', failure, 'oauth_provider'],
    ['user info HTML', html, 'oauth_provider'],
    ['user info slow', (user) => slow(user), 'oauth_provider'],
    ['user info huge', (user) => huge(user), 'oauth_provider'],
    ['user info redirecting', (_user, { trap }) => redirectTo(trap('user-info')), 'oauth_provider'],
  ] as const satisfies readonly (readonly [string, NonNullable<Play['userInfo']>, OAuthProblemCode])[]
).map(([name, userInfo, problem]) => ({ name, flows: CODE, play: { userInfo, claims: withoutEmail }, problem }))

/** Sign-ins that a correct client must reject. */
export const HOSTILE: readonly HostileCase[] = [
  ...SIGNED.map(({ name, play }) => ({ name, flows: ALL, play, problem: 'oauth_token' as const })),
  {
    name: 'header typ of a logout token',
    flows: ALL,
    play: { header: header(() => ({ typ: 'logout+jwt' })) },
    problem: 'oauth_token',
  },
  ...CLAIMS,
  {
    name: 'nonce replayed',
    flows: ALL,
    needsEarlier: true,
    play: { claims: claims(({ earlierNonce }) => ({ nonce: earlierNonce })) },
    problem: 'oauth_token',
  },
  ...CODE_CLAIMS,
  ...HOSTILE_RESPONSES,
  ...TOKEN_ENDPOINTS.map(([name, tokenEndpoint, problem = 'oauth_provider']) => ({
    name,
    flows: CODE,
    play: { tokenEndpoint },
    problem,
  })),
  ...KEY_SETS,
  ...WEAK_KEYS,
  ...DISCOVERY,
]

export type AcceptedCase = FlowCase & {
  /** Whether the provider's signing keys are rotated between the previous login and this one. */
  readonly rotates?: boolean
}

/** Unusual sign-ins that a correct client accepts. */
export const ACCEPTED: readonly AcceptedCase[] = [
  { name: 'nothing unusual', flows: ALL, play: {} },
  { name: 'aud a list of one', flows: ALL, play: { claims: claims(({ clientId }) => ({ aud: [clientId] })) } },
  { name: 'azp the client itself', flows: ALL, play: { claims: claims(({ clientId }) => ({ azp: clientId })) } },
  { name: 'kid missing with one key', flows: ALL, play: { header: header(() => ({ kid: undefined })) } },
  { name: 'typ missing', flows: ALL, play: { header: header(() => ({ typ: undefined })) } },
  { name: 'rotated keys', flows: ALL, play: {}, needsEarlier: true, rotates: true },
  {
    name: 'mixed key set',
    flows: ALL,
    play: {
      keySet: (keys, scene) =>
        json({
          keys: [
            { kty: 'oct', kid: 'shared', k: 'c2VjcmV0' },
            { kty: 'FROM-THE-FUTURE', kid: 'new' },
            { kty: 'RSA' },
            scene.keys.elliptic.jwk,
            scene.keys.weak.jwk,
            { ...scene.keys.foreign.jwk, use: 'enc' },
            ...keys,
          ],
        }),
    },
  },
  {
    name: 'token_type in upper case',
    flows: CODE,
    play: { tokenEndpoint: (answer) => json({ ...answer, token_type: 'BEARER' }) },
  },
  { name: 'no expires_in', flows: CODE, play: { tokenEndpoint: ({ expires_in: _, ...answer }) => json(answer) } },
  { name: 'no refresh token', flows: CODE, play: { tokenEndpoint: ({ refresh_token: _, ...answer }) => json(answer) } },
  { name: 'no at_hash', flows: CODE, play: { claims: claims(() => ({ at_hash: undefined })) } },
  { name: 'c_hash right', flows: CODE, play: { claims: claims(({ code }) => ({ c_hash: halfHash(code ?? '') })) } },
  {
    // A response with an ID token needs no `iss` parameter (RFC 9207, section 2.4), because the token contains its
    // issuer. oidc-provider doesn't send the parameter either.
    name: 'response iss dropped beside an ID token',
    flows: ['id_token'],
    play: { authorization: without('iss') },
  },
  { name: 'clock half a minute ahead', flows: ALL, play: { claims: claims(({ now }) => ({ iat: now + 30 })) } },
  { name: 'sub of 255 characters', flows: ALL, play: { claims: claims(() => ({ sub: 's'.repeat(255) })) } },
]

export type RefreshCase = {
  readonly name: string
  readonly play: NonNullable<Play['refresh']>
  readonly userInfo?: Play['userInfo']
  /**
   * `refused`: the remembered login must end. `away`: the host treats the provider as unreachable, and the remembered
   * login must remain unchanged.
   */
  readonly effect: 'refused' | 'away'
}

/** Malicious responses to a token refresh after a normal login. */
export const HOSTILE_REFRESH: readonly RefreshCase[] = [
  ...(
    [
      ['refresh with another sub', () => ({ sub: 'sub-of-bram' })],
      ['refresh with another issuer', () => ({ iss: 'https://provider.example' })],
      ['refresh with a foreign audience', () => ({ aud: 'two' })],
      ['refresh with a wrong nonce', () => ({ nonce: 'another-nonce-than-the-one-sent' })],
      ['refresh with an ID token long past', ({ now }) => ({ exp: now - 30 * DAY })],
    ] as const satisfies readonly (readonly [string, (scene: Scene) => Json])[]
  ).map(([name, changes]) => ({ name, play: { claims: claims(changes) }, effect: 'refused' as const })),
  {
    // Omit the new ID token from the response, so only UserInfo identifies the user.
    name: 'refresh without ID token, and user info of another sub',
    play: { tokenEndpoint: ({ id_token: _, ...answer }) => json(answer) },
    userInfo: (user) => json({ ...user, sub: 'sub-of-bram' }),
    effect: 'refused',
  },
  { name: 'refresh signed by another key', play: { sign: signedByForeign }, effect: 'refused' },
  { name: 'refresh with algorithm none', play: { sign: unsigned('none') }, effect: 'refused' },
  {
    name: 'refresh with invalid_grant',
    play: { tokenEndpoint: () => json({ error: 'invalid_grant' }, 400) },
    effect: 'refused',
  },
  { name: 'refresh 500', play: { tokenEndpoint: failure }, effect: 'away' },
  { name: 'refresh HTML', play: { tokenEndpoint: html }, effect: 'away' },
  { name: 'refresh slow', play: { tokenEndpoint: (answer) => slow(answer) }, effect: 'away' },
  { name: 'refresh huge', play: { tokenEndpoint: (answer) => huge(answer) }, effect: 'away' },
  {
    name: 'refresh redirecting',
    play: { tokenEndpoint: (_answer, { trap }) => redirectTo(trap('refresh')) },
    effect: 'away',
  },
]

/** A response without an ID token or a new refresh token is also valid (OIDC Core 12.2). */
export const ACCEPTED_REFRESH: readonly { readonly name: string; readonly play: NonNullable<Play['refresh']> }[] = [
  { name: 'refresh token rotated', play: {} },
  {
    name: 'refresh token kept',
    play: { tokenEndpoint: ({ refresh_token: _, ...answer }) => json(answer) },
  },
  { name: 'refresh without ID token', play: { tokenEndpoint: ({ id_token: _, ...answer }) => json(answer) } },
]

const EVENT = 'http://schemas.openid.net/event/backchannel-logout'

/** Logout tokens that must not end any session (OIDC Back-Channel Logout 1.0, section 2.6). */
export const BAD_LOGOUT_TOKENS: readonly { readonly name: string; readonly changes: TokenPlay }[] = [
  ...SIGNED.filter(({ play }) => play.keySet === undefined).map(({ name, play }) => ({ name, changes: play })),
  ...(
    [
      ['iss wrong', () => ({ iss: 'https://provider.example' })],
      ['iss missing', () => ({ iss: undefined })],
      ['iss with a slash', ({ issuer }) => ({ iss: `${issuer}/` })],
      ['aud wrong', () => ({ aud: 'two' })],
      ['aud missing', () => ({ aud: undefined })],
      ['aud with a foreign one', ({ clientId }) => ({ aud: [clientId, 'two'] })],
      ['iat missing', () => ({ iat: undefined })],
      ['iat a day old', ({ now }) => ({ iat: now - DAY })],
      ['iat in the future', ({ now }) => ({ iat: now + HOUR, exp: now + 2 * HOUR })],
      ['exp missing', () => ({ exp: undefined })],
      ['exp past', ({ now }) => ({ exp: now - HOUR })],
      ['jti missing', () => ({ jti: undefined })],
      ['jti a number', () => ({ jti: 7 })],
      ['events missing', () => ({ events: undefined })],
      ['events a text', () => ({ events: EVENT })],
      ['events of another kind', () => ({ events: { 'http://schemas.openid.net/event/other': {} } })],
      ['event not an object', () => ({ events: { [EVENT]: true } })],
      ['nonce present', () => ({ nonce: 'a-nonce' })],
      ['sub and sid missing', () => ({ sub: undefined, sid: undefined })],
      ['sub empty', () => ({ sub: '' })],
      ['sub a number', () => ({ sub: 7 })],
      ['sid a number', () => ({ sid: 7 })],
    ] as const satisfies readonly (readonly [string, (scene: Scene) => Json])[]
  ).map(([name, changes]) => ({ name, changes: { claims: claims(changes) } })),
  {
    name: 'an ID token in its place',
    changes: {
      header: header(() => ({ typ: 'JWT' })),
      claims: claims(() => ({ events: undefined, jti: undefined, nonce: 'a-nonce' })),
    },
  },
  { name: 'not a token', changes: { token: () => 'no token at all' } },
  { name: 'nothing', changes: { token: () => '' } },
]
