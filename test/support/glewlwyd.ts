import { type ChildProcess, spawn } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { gunzipSync } from 'node:zlib'
import { CLIENT_SECRET } from './client-secret.ts'
import { freePort } from './database-server.ts'
import type { ProviderAccount } from './oidc-provider.ts'
import { type Callback, createPerson, formOf, type Page, type Person, type SignInAnswers } from './person.ts'

const SCHEMA = '/usr/share/doc/glewlwyd/database/init.sqlite3.sql.gz'

/**
 * The path of Debian's Glewlwyd. Undefined if the program, or its documentation with the database schema, is not
 * installed. Tests that need it are then skipped.
 */
export const glewlwydPath = ['/usr/bin/glewlwyd'].find((path) => existsSync(path) && existsSync(SCHEMA))

export type GlewlwydClient = {
  readonly clientId: string
  readonly redirectUris: readonly string[]
  readonly postLogoutRedirectUris?: readonly string[]
  readonly backchannelLogoutUri?: string
}

export type Glewlwyd = {
  readonly issuer: string
  /** The provider's host and port (`127.0.0.1:PORT`), as an entry for `OAUTH_ALLOWED_HOSTS`. */
  readonly hostPort: string
  /** Registers an OAuth client with `CLIENT_SECRET`. */
  readonly addClient: (client: GlewlwydClient) => Promise<void>
  readonly stop: () => Promise<void>
}

const GLEWLWYD_ACCOUNTS: readonly ProviderAccount[] = [
  {
    name: 'anna',
    password: 'anna-tries-glewlwyd',
    claims: { email: 'anna@example.org', email_verified: true, name: 'Anna Ek' },
  },
  {
    name: 'bram',
    password: 'bram-tries-glewlwyd',
    claims: { email: 'bram@example.org', email_verified: false, name: 'Bram van Dijk' },
  },
]

/** The timeout for starting Glewlwyd, in ms. It is long enough for a busy machine. */
const START_TIME = 30_000
const STOP_TIME = 5000
const SCOPES = ['openid', 'email', 'profile']
const SESSION = 'GLEWLWYD2_SESSION_ID'

/**
 * Starts Glewlwyd, an OpenID provider written in C, on loopback with its own database. The caller stops it. Version
 * 2.7.5 supports code, id_token, the three response modes, PKCE, refresh tokens with rotation, and revocation. It also
 * supports RP-initiated and back-channel logout. Some of its behaviour is unusual:
 * - Its discovery document has no `authorization_response_iss_parameter_supported`, though it can send `iss`.
 * - Its logout tokens follow a draft and have no `exp`. Back-Channel Logout 1.0 section 2.4 requires it, so a
 *   conforming host rejects them.
 * - It does not decode the client id and secret in Basic authentication (RFC 6749 section 2.3.1).
 * @param sendsIssuer whether its authorization responses contain `iss`. With form_post, correct clients reject these
 * responses, because Glewlwyd percent-encodes the value
 */
export async function startGlewlwyd({ accounts = GLEWLWYD_ACCOUNTS, sendsIssuer = false } = {}): Promise<Glewlwyd> {
  const program = glewlwydPath
  if (program === undefined) throw new TypeError('there is no Glewlwyd to start: leave the test out')
  const folder = mkdtempSync(join(tmpdir(), 'solhost-glewlwyd-'))
  const port = await freePort()
  const base = `http://127.0.0.1:${port}`
  const database = new DatabaseSync(join(folder, 'database'))
  database.exec(gunzipSync(readFileSync(SCHEMA)).toString('utf8'))
  // Add two properties that the default schema lacks. The end session endpoint needs the first one, and a claim needs
  // the second one.
  database.exec(
    `UPDATE g_client_module_instance SET gcmi_parameters = json_set(gcmi_parameters,
       '$."data-format".post_logout_redirect_uris', json('{"multiple":true,"read":true,"write":true}'));
     UPDATE g_user_module_instance SET gumi_parameters = json_set(gumi_parameters,
       '$."data-format".email_verified', json('{"multiple":false,"read":true,"write":true}'))`,
  )
  database.close()
  const file = join(folder, 'glewlwyd.conf')
  writeFileSync(file, configuration(port, base, join(folder, 'database')))

  const running = spawn(program, [`--config-file=${file}`], { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] })
  const endWithTests = () => running.kill('SIGKILL')
  process.on('exit', endWithTests)
  const stop = async () => {
    await end(running)
    process.off('exit', endWithTests)
    rmSync(folder, { recursive: true, force: true })
  }

  try {
    await untilReady(running)
    await untilAnswering(base, running)
    const administrator = createPerson()
    const call = async (path: string, json: unknown) => {
      const { status, text } = await administrator.open(`${base}/api${path}`, { method: 'POST', json })
      if (status !== 200) throw new Error(`Glewlwyd: POST ${path} answered ${status}: ${text}`)
    }
    await call('/auth/', { username: 'admin', password: 'password' })
    await call('/mod/plugin/', plugin(`${base}/api/oidc`, sendsIssuer))
    for (const name of ['email', 'profile']) await call('/scope/', scope(name))
    for (const account of accounts) await call('/user/', user(account))
    return {
      issuer: `${base}/api/oidc`,
      hostPort: `127.0.0.1:${port}`,
      addClient: (client) => call('/client/', clientOf(client)),
      stop,
    }
  } catch (error) {
    await stop()
    throw error
  }
}

/**
 * Signs in at Glewlwyd and grants the requested scopes. Glewlwyd's pages are one script that calls its API. This
 * function calls the API directly.
 */
export async function signInAtGlewlwyd(
  person: Person,
  location: string,
  { account, password = `${account}-tries-glewlwyd`, from }: SignInAnswers,
): Promise<Callback> {
  const { origin, searchParams } = new URL(location)
  const first = await person.open(location, from === undefined ? {} : { from })
  const asked = callbackOf(first, origin)
  if (asked !== null) return asked
  const login = new URL(String(first.headers.location), first.url)
  const api = async (method: 'POST' | 'PUT', path: string, json: unknown) => {
    const { status } = await person.open(`${origin}/api${path}`, { method, json, from: login.href })
    if (status !== 200) throw new Error(`Glewlwyd: ${method} ${path} answered ${status}`)
  }
  await api('POST', '/auth/', { username: account, password })
  await api('PUT', `/auth/grant/${searchParams.get('client_id')}/`, { scope: searchParams.get('scope') })
  const page = await person.open(`${login.searchParams.get('callback_url')}&g_continue`, { from: login.href })
  const callback = callbackOf(page, origin)
  if (callback === null) throw new Error(`Glewlwyd: ${page.status} to ${page.headers.location ?? 'nowhere'}`)
  return callback
}

/**
 * Signs out at the end session endpoint and confirms on the page.
 * @returns the URL to which Glewlwyd then redirects the browser
 */
export async function signOutAtGlewlwyd(person: Person, location: string): Promise<string> {
  const { origin } = new URL(location)
  const { headers, status, url } = await person.open(location)
  if (headers.location === undefined) throw new Error(`Glewlwyd: end_session answered ${status}`)
  const page = new URL(headers.location, url)
  const sid = page.searchParams.get('sid')
  for (const path of [`/oidc/session/${sid}`, '/auth/']) {
    const answer = await person.open(`${origin}/api${path}`, { method: 'DELETE', from: page.href })
    if (answer.status !== 200) throw new Error(`Glewlwyd: DELETE ${path} answered ${answer.status}`)
  }
  return String(page.searchParams.get('callback_url'))
}

/**
 * Reads from a page whether the provider sends the browser back.
 * @returns the request that the browser then sends to the OAuth client; null if it stays at the provider
 */
function callbackOf(page: Page, origin: string): Callback | null {
  const { location } = page.headers
  if (location !== undefined) {
    const { href, origin: next } = new URL(location, page.url)
    return next === origin ? null : { method: 'GET', url: href, fields: [], from: page.url }
  }
  const form = formOf(page)
  if (form === null || new URL(form.action).origin === origin) return null
  return { method: 'POST', url: form.action, fields: form.fields, from: page.url }
}

function configuration(port: number, base: string, database: string): string {
  const folder = '/usr/lib/glewlwyd'
  return `
port=${port}
bind_address="127.0.0.1"
external_url="${base}"
login_url="login.html"
api_prefix="api"
static_files_path="/usr/share/glewlwyd/webapp/"
log_mode="console"
log_level="INFO"
cookie_domain="127.0.0.1"
cookie_secure=0
session_key="${SESSION}"
admin_scope="g_admin"
profile_scope="g_profile"
user_module_path="${folder}/user"
user_middleware_module_path="${folder}/user_middleware"
client_module_path="${folder}/client"
user_auth_scheme_module_path="${folder}/scheme"
plugin_module_path="${folder}/plugin"
hash_algorithm="SHA512"
database = { type = "sqlite3" path = "${database}" };
`
}

/**
 * Returns the settings of Glewlwyd's OpenID Connect plugin.
 * @see /usr/share/doc/glewlwyd/OIDC.md.gz, "Installation"
 */
function plugin(issuer: string, sendsIssuer: boolean) {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  return {
    module: 'oidc',
    name: 'oidc',
    display_name: 'OpenID Connect',
    order_rank: 0,
    parameters: {
      iss: issuer,
      'jwt-type': 'rsa',
      'jwt-key-size': '256',
      key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
      cert: publicKey.export({ type: 'spki', format: 'pem' }),
      'access-token-duration': 3600,
      'refresh-token-duration': 86_400,
      'code-duration': 600,
      'refresh-token-rolling': true,
      'refresh-token-one-use': 'always',
      'allow-non-oidc': false,
      'auth-type-code-enabled': true,
      'auth-type-code-revoke-replayed': true,
      'auth-type-token-enabled': false,
      'auth-type-id-token-enabled': true,
      'auth-type-none-enabled': false,
      'auth-type-password-enabled': false,
      'auth-type-client-enabled': false,
      'auth-type-device-enabled': false,
      'auth-type-refresh-enabled': true,
      'jwks-show': true,
      'pkce-allowed': true,
      'pkce-method-plain-allowed': false,
      'pkce-required': true,
      'session-management-allowed': true,
      'session-cookie-name': 'GLEWLWYD2_OIDC_SID',
      'session-cookie-expiration': 86_400,
      'back-channel-logout-allowed': true,
      'front-channel-logout-allowed': false,
      'introspection-revocation-allowed': true,
      'introspection-revocation-allow-target-client': true,
      'oauth-as-iss-id': sendsIssuer,
      'subject-type': 'public',
      'allowed-scope': SCOPES,
      'name-claim': 'mandatory',
      'name-claim-scope': ['profile'],
      'email-claim': 'mandatory',
      'email-claim-scope': ['email'],
      'scope-claim': 'no',
      claims: [
        {
          name: 'email_verified',
          'user-property': 'email_verified',
          type: 'boolean',
          'boolean-value-true': 'yes',
          'boolean-value-false': 'no',
          mandatory: true,
          scope: ['email'],
        },
      ],
    },
  }
}

function scope(name: string) {
  return { name, display_name: name, description: name, password_required: true, password_max_age: 0, scheme: {} }
}

function user({ name, password, claims }: ProviderAccount) {
  const { name: full, email, email_verified } = claims ?? {}
  return {
    username: name,
    name: full,
    email,
    email_verified: email_verified === true ? 'yes' : 'no',
    password,
    enabled: true,
    scope: ['g_profile', ...SCOPES],
  }
}

function clientOf({ clientId, redirectUris, postLogoutRedirectUris, backchannelLogoutUri }: GlewlwydClient) {
  return {
    client_id: clientId,
    name: clientId,
    confidential: true,
    enabled: true,
    password: CLIENT_SECRET,
    client_secret: CLIENT_SECRET,
    scope: SCOPES,
    redirect_uri: redirectUris,
    authorization_type: ['code', 'id_token', 'refresh_token'],
    token_endpoint_auth_method: ['client_secret_basic', 'client_secret_post'],
    ...(postLogoutRedirectUris === undefined ? {} : { post_logout_redirect_uris: postLogoutRedirectUris }),
    ...(backchannelLogoutUri === undefined
      ? {}
      : { backchannel_logout_uri: backchannelLogoutUri, backchannel_logout_session_required: 'true' }),
  }
}

/** Poll the port, because Glewlwyd reports its start before it listens. */
async function untilAnswering(base: string, running: ChildProcess): Promise<void> {
  const end = Date.now() + START_TIME
  while (Date.now() < end && running.exitCode === null) {
    const isThere = await fetch(`${base}/config`).then(
      () => true,
      () => false,
    )
    if (isThere) return
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  throw new Error('Glewlwyd does not answer')
}

function untilReady(running: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    let output = ''
    const timer = setTimeout(() => reject(new Error(`Glewlwyd does not start: ${output}`)), START_TIME)
    const read = (chunk: unknown) => {
      if (output.length < 100_000) output += String(chunk)
      if (!/Glewlwyd started on port/.test(output)) return
      clearTimeout(timer)
      resolve()
    }
    // Read all output, because a full pipe would block the process.
    running.stdout?.on('data', read)
    running.stderr?.on('data', read)
    running.once('exit', (code) => {
      clearTimeout(timer)
      reject(new Error(`Glewlwyd ended with ${code}: ${output}`))
    })
  })
}

async function end(running: ChildProcess): Promise<void> {
  if (running.exitCode !== null || running.signalCode !== null) return
  const gone = new Promise((resolve) => running.once('exit', resolve))
  running.kill('SIGTERM')
  const timer = setTimeout(() => running.kill('SIGKILL'), STOP_TIME)
  await gone
  clearTimeout(timer)
}
