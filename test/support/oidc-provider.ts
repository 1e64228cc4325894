import { createServer, type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, generateKeyPair, type JWK } from 'jose'
import type { Context, Next } from 'koa'
import type { Interaction, Provider as ProviderType } from 'oidc-provider'
import { CLIENT_SECRET } from './client-secret.ts'
import { ask } from './http.ts'
import { consentPage, loginPage, messagePage, type ProviderFrame, signOutPage } from './provider-pages.ts'
import { createProviderStore } from './provider-store.ts'

const { Provider } = await importProvider()

export type ProviderAccount = {
  readonly name: string
  readonly password: string
  /** The claim `sub`. By default, it is the account's name. */
  readonly sub?: string
  /** The claims for the scopes `email` and `profile`, such as `email`, `email_verified`, `name` and `locale`. */
  readonly claims?: Readonly<Record<string, unknown>>
}

/**
 * A client's metadata, with property names as in OpenID Connect Dynamic Client Registration. `CLIENT` contains default
 * values.
 */
export type ProviderClient = Readonly<Record<string, unknown>> & {
  readonly client_id: string
  readonly redirect_uris: readonly string[]
  readonly post_logout_redirect_uris?: readonly string[]
  readonly backchannel_logout_uri?: string
}

export type OidcProviderOptions = {
  readonly clients?: readonly ProviderClient[]
  readonly accounts?: readonly ProviderAccount[]
  /** The port to listen on. The default, 0, selects a free port. */
  readonly port?: number
  readonly title?: string
  /** The accent colour of the provider's pages, as a CSS colour. */
  readonly accent?: string
  /** Whether the login page lists the accounts with their passwords. */
  readonly showsAccounts?: boolean
  /**
   * Where the code flow returns the claims for email and profile. Most providers put them in the ID token. The
   * specification requires that the UserInfo endpoint returns them.
   */
  readonly claimsIn?: 'id_token' | 'userinfo'
  /**
   * When to issue refresh tokens. With `offline_access`, the request must have this scope and `prompt=consent` (OIDC
   * Core section 11).
   */
  readonly refreshTokens?: 'offline_access' | 'always'
}

export type ProviderRequest = {
  readonly method: string
  readonly path: string
  readonly query: Readonly<Record<string, string>>
  readonly headers: IncomingHttpHeaders
  /** The form fields in the request's body, if it contains a form. */
  body?: Readonly<Record<string, unknown>>
  /** The response's status, once the provider has responded. */
  status?: number
}

export type OidcProvider = {
  readonly issuer: string
  /** The provider's host and port (`127.0.0.1:PORT`), as an entry for `OAUTH_ALLOWED_HOSTS`. */
  readonly hostPort: string
  /** Every request that the provider has received, oldest first. */
  readonly requests: ProviderRequest[]
  /** The back-channel logout requests that the provider has sent. */
  readonly backchannel: { readonly clientId: string; readonly sub: string; readonly fault: string | null }[]
  /** The accounts. Tests may change them at any time. */
  readonly accounts: ProviderAccount[]
  /**
   * Adds or changes a client. A host's port is known only after its start, so its clients can't be set earlier.
   * @throws Error if the metadata is invalid
   */
  readonly setClient: (client: ProviderClient) => Promise<void>
  /**
   * Signs tokens with a new key from now on.
   * @param keepsOld whether the key set still contains the earlier keys
   * @returns the new key's id
   */
  readonly rotate: (options?: { readonly keepsOld?: boolean }) => Promise<string>
  /** Refuses connections until `up` is called, like a provider that is down. */
  readonly down: () => Promise<void>
  readonly up: () => Promise<void>
  /**
   * Uses the provider's own pages to sign the account out of every browser. The provider then sends logout tokens.
   * @returns how many of the account's sessions ended
   */
  readonly sessionsEnd: (sub: string) => Promise<number>
  readonly stop: () => Promise<void>
}

const CLIENT = {
  client_secret: CLIENT_SECRET,
  response_types: ['code', 'id_token'],
  grant_types: ['authorization_code', 'refresh_token', 'implicit'],
  backchannel_logout_session_required: true,
}

export const ACCOUNTS: readonly ProviderAccount[] = [
  {
    name: 'anna',
    password: 'anna-tries-oidc',
    sub: 'sub-of-anna',
    claims: { email: 'anna@example.org', email_verified: true, name: 'Anna Ek', locale: 'en-GB' },
  },
  {
    name: 'bram',
    password: 'bram-tries-oidc',
    sub: 'sub-of-bram',
    claims: { email: 'bram@example.org', email_verified: true, name: 'Bram van Dijk', locale: 'nl-BE' },
  },
  {
    name: 'carl',
    password: 'carl-tries-oidc',
    sub: 'sub-of-carl',
    claims: { email: 'anna@example.org', email_verified: false, name: 'Carl, whose email is not verified' },
  },
]

/** The timeout for requests that `oidc-provider` sends, such as back-channel logout requests, in ms. */
const BACKCHANNEL_TIME = 2500

/**
 * Starts an OpenID provider on loopback: the npm package `oidc-provider`, which is independent and certified. The
 * caller stops it.
 */
export async function startOidcProvider(options: OidcProviderOptions = {}): Promise<OidcProvider> {
  const { claimsIn = 'id_token', refreshTokens = 'offline_access', showsAccounts = false } = options
  const frame: ProviderFrame = { title: options.title ?? 'Test provider', accent: options.accent ?? '#2b5fb8' }
  const accounts = [...(options.accounts ?? ACCOUNTS)]
  const store = createProviderStore()
  const requests: ProviderRequest[] = []
  const backchannel: OidcProvider['backchannel'] = []
  let keys = [await makeKey('RS256'), await makeKey('ES256')]
  let current: ProviderType
  let listener: ReturnType<ProviderType['callback']>

  const server = createServer((request, response) => listener(request, response))
  await listen(options.port ?? 0)
  const { port } = server.address() as AddressInfo
  const issuer = `http://127.0.0.1:${port}`
  await make()
  for (const client of options.clients ?? []) await setClient(client)

  function listen(on: number): Promise<void> {
    return new Promise((resolve, reject) => {
      server.once('error', reject)
      server.listen(on, '127.0.0.1', () => {
        server.off('error', reject)
        resolve()
      })
    })
  }

  function close(): Promise<void> {
    if (!server.listening) return Promise.resolve()
    const closed = new Promise<void>((resolve) => server.close(() => resolve()))
    server.closeAllConnections()
    return closed
  }

  /**
   * Creates the provider, with the current keys. An instance's keys can't be changed, so a key rotation replaces the
   * instance. The store is kept.
   */
  async function make(): Promise<void> {
    current = new Provider(issuer, {
      ...FIXED,
      adapter: store.adapter,
      jwks: { keys },
      conformIdTokenClaims: claimsIn === 'userinfo',
      issueRefreshToken: (_context: unknown, client: Grants, code: { scopes: Set<string> }) =>
        client.grantTypeAllowed('refresh_token') && (refreshTokens === 'always' || code.scopes.has('offline_access')),
      findAccount: (_context: unknown, sub: string) => {
        const account = accounts.find((one) => subOf(one) === sub)
        return account && { accountId: sub, claims: async () => ({ sub, ...account.claims }) }
      },
      features: {
        ...FEATURES,
        rpInitiatedLogout: {
          enabled: true,
          logoutSource: (context: Context, form: string) => show(context, signOutPage(frame, form)),
          postLogoutSuccessSource: (context: Context) =>
            show(context, messagePage(frame, 'Signed out', `You are signed out at ${frame.title}.`)),
        },
      },
      renderError: (context: Context, out: { error: string; error_description?: string }) =>
        show(context, messagePage(frame, 'That did not work', `${out.error}: ${out.error_description ?? ''}`)),
    })
    allowHttp(current)
    current.on('backchannel.success', (_context: never, client: Named, sub: string) => {
      backchannel.push({ clientId: client.clientId, sub, fault: null })
    })
    current.on('backchannel.error', (_context: never, error: Error, client: Named, sub: string) => {
      backchannel.push({ clientId: client.clientId, sub, fault: error.message })
    })
    current.use(record)
    current.use(interact)
    listener = current.callback()
  }

  async function setClient(client: ProviderClient): Promise<void> {
    store.put('Client', client.client_id, { ...CLIENT, ...client })
    await current.Client.find(client.client_id)
  }

  async function record(context: Context & { oidc?: { body?: Record<string, unknown> } }, next: Next): Promise<void> {
    const { method, path, query, req } = context
    const request: ProviderRequest = {
      method,
      path,
      query: { ...query } as Record<string, string>,
      headers: req.headers,
    }
    requests.push(request)
    try {
      await next()
    } finally {
      if (context.oidc?.body !== undefined) request.body = { ...context.oidc.body }
      request.status = context.res.headersSent ? context.res.statusCode : context.status
    }
  }

  async function interact(context: Context, next: Next): Promise<void> {
    if (!context.path.startsWith('/interaction/')) return next()
    let interaction: Interaction
    try {
      interaction = await current.interactionDetails(context.req, context.res)
    } catch {
      context.status = 400
      return show(
        context,
        messagePage(frame, 'That did not work', 'This sign-in is over. Open the application again to start a new one.'),
      )
    }
    if (context.method !== 'POST') return askPerson(context, interaction)
    const fields = await readForm(context.req)
    const answer = fields.get('answer')
    if (answer === 'cancel' || answer === 'deny') {
      return finish(context, { error: 'access_denied', error_description: `The user chose to ${answer}` })
    }
    if (interaction.prompt.name === 'consent') return finish(context, await consented(interaction))
    const account = accounts.find(({ name }) => name === fields.get('account'))
    if (account === undefined || account.password !== fields.get('password'))
      return askPerson(context, interaction, fields.get('account') ?? '')
    return finish(context, { login: { accountId: subOf(account) } })
  }

  /**
   * Shows the login or consent page.
   * @param refused the account name from a rejected sign-in, or null
   */
  async function askPerson(
    context: Context,
    { prompt, params, session }: Interaction,
    refused: string | null = null,
  ): Promise<void> {
    const clientId = String(params.client_id)
    const client = (await current.Client.find(clientId))?.clientName ?? clientId
    const action = context.path
    if (prompt.name === 'consent') {
      const account = accounts.find((one) => subOf(one) === session?.accountId)?.name ?? ''
      const scopes = prompt.details.missingOIDCScope ?? String(params.scope).split(' ')
      return show(context, consentPage(frame, { action, client, account, scopes }))
    }
    const hints = showsAccounts ? accounts.map(({ name, password }) => [name, password] as const) : []
    const account = refused ?? (typeof params.login_hint === 'string' ? params.login_hint : '')
    return show(context, loginPage(frame, { action, client, account, isRefused: refused !== null, hints }))
  }

  async function consented({ grantId, session, params, prompt }: Interaction): Promise<Record<string, unknown>> {
    const of = { accountId: session?.accountId ?? '', clientId: String(params.client_id) }
    const grant = (grantId && (await current.Grant.find(grantId))) || new current.Grant(of)
    grant.addOIDCScope((prompt.details.missingOIDCScope ?? []).join(' '))
    grant.addOIDCClaims(prompt.details.missingOIDCClaims ?? [])
    return { consent: { grantId: await grant.save() } }
  }

  async function finish(context: Context, result: Record<string, unknown>): Promise<void> {
    context.respond = false
    await current.interactionFinished(context.req, context.res, result, {
      mergeWithLastSubmission: !('error' in result),
    })
  }

  return {
    issuer,
    hostPort: `127.0.0.1:${port}`,
    requests,
    backchannel,
    accounts,
    setClient,
    async rotate({ keepsOld = true } = {}) {
      const key = await makeKey('RS256')
      keys = [key, ...(keepsOld ? keys : [])]
      await make()
      return String(key.kid)
    },
    down: close,
    up: () => listen(port),
    async sessionsEnd(sub) {
      // The cookie of a session contains its id in the store.
      const ids = [...store.all('Session')].filter(([, { accountId }]) => accountId === sub).map(([id]) => id)
      for (const id of ids) await signOut(issuer, `_session=${id}`)
      return ids.length
    },
    stop: close,
  }
}

/** Imports the package without its warning about Node.js versions that are not LTS yet. */
async function importProvider() {
  const { warn } = console
  console.warn = () => {}
  try {
    return await import('oidc-provider')
  } finally {
    console.warn = warn
  }
}

type Grants = { grantTypeAllowed(type: string): boolean }
type Named = { readonly clientId: string }

/** Settings that are always the same. Without them, the package prints hints about its defaults. */
const FIXED = {
  claims: {
    openid: ['sub'],
    email: ['email', 'email_verified'],
    profile: ['name', 'given_name', 'family_name', 'preferred_username', 'locale', 'picture'],
  },
  scopes: ['openid', 'offline_access'],
  responseTypes: ['code', 'id_token'],
  pkce: { required: () => true },
  rotateRefreshToken: true,
  clientBasedCORS: () => false,
  interactions: { url: (_context: unknown, { uid }: { uid: string }) => `/interaction/${uid}` },
  ttl: {
    AccessToken: 3600,
    AuthorizationCode: 60,
    Grant: 86_400,
    IdToken: 3600,
    Interaction: 3600,
    RefreshToken: 86_400,
    Session: 86_400,
  },
  fetch: fetchLoopback,
}

const FEATURES = {
  devInteractions: { enabled: false },
  dPoP: { enabled: false },
  pushedAuthorizationRequests: { enabled: false },
  resourceIndicators: { enabled: false },
  introspection: { enabled: false },
  revocation: {
    enabled: true,
    allowedPolicy: (_context: unknown, client: Named, token: Named) => client.clientId === token.clientId,
  },
  backchannelLogout: { enabled: true },
}

/** Disables the rule that clients with the implicit flow must use https. Test hosts on loopback use http. */
function allowHttp(provider: ProviderType): void {
  const rules = provider.Client.Schema.prototype
  const { invalidate } = rules
  rules.invalidate = function (message, code) {
    if (code !== 'implicit-force-https' && code !== 'implicit-forbid-localhost') invalidate.call(this, message, code)
  }
}

/**
 * Sends the provider's own requests, but only to loopback.
 * @throws TypeError for any other address
 */
async function fetchLoopback(
  address: string,
  { method, headers, body }: { method: string; headers: Headers; body: URLSearchParams },
): Promise<Response> {
  const url = new URL(address)
  const { host } = url
  if (url.hostname !== '127.0.0.1' && !/^(?:.+\.)?localhost$/.test(url.hostname))
    throw new TypeError(`not asked: ${host}`)
  url.hostname = '127.0.0.1'
  const sent = ask(url.href, { method, headers: { ...Object.fromEntries(headers), host }, body: body.toString() })
  const late = new Promise<never>((_, reject) => {
    setTimeout(() => reject(new Error(`${host} did not answer in time`)), BACKCHANNEL_TIME).unref()
  })
  const { status, text } = await Promise.race([sent, late])
  return new Response(status === 204 ? null : text, { status })
}

async function signOut(issuer: string, cookie: string): Promise<void> {
  const { text } = await ask(`${issuer}/session/end`, { headers: { cookie } })
  const xsrf = /name="xsrf" value="([^"]+)"/.exec(text)?.[1] ?? ''
  const headers = { cookie, 'content-type': 'application/x-www-form-urlencoded' }
  const body = new URLSearchParams({ xsrf, logout: 'yes' }).toString()
  const { status } = await ask(`${issuer}/session/end/confirm`, { method: 'POST', headers, body })
  if (status !== 303) throw new Error(`signing out at the provider answered ${status}`)
}

async function makeKey(alg: string): Promise<JWK> {
  const { privateKey } = await generateKeyPair(alg, { extractable: true })
  const kid = `${alg}-${crypto.randomUUID()}`
  return { ...(await exportJWK(privateKey)), alg, use: 'sig', kid }
}

function show(context: Context, html: string): void {
  context.type = 'html'
  context.set('content-security-policy', "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'")
  context.set('cache-control', 'no-store')
  context.body = html
}

/** The maximum size of a submitted form, in characters. */
const FORM_SIZE = 10_000

async function readForm(request: IncomingMessage): Promise<URLSearchParams> {
  let text = ''
  for await (const chunk of request) {
    text += String(chunk)
    if (text.length > FORM_SIZE) throw new Error('the form is too large')
  }
  return new URLSearchParams(text)
}

function subOf({ name, sub }: ProviderAccount): string {
  return sub ?? name
}
