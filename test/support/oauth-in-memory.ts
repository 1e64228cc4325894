import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Router from '@koa/router'
import type { Context, Middleware } from 'koa'
import { pino } from 'pino'
import { findSession } from '../../base/accounts/find-session.ts'
import { createFormTokens } from '../../base/accounts/form-token.ts'
import { createRemembered } from '../../base/accounts/remembered.ts'
import { createSessions } from '../../base/accounts/sessions.ts'
import type { ActiveSolution } from '../../base/bundles/active-solution.ts'
import { noEffects } from '../../base/bundles/host-call.ts'
import { openPlatformKey } from '../../base/config/platform-key.ts'
import { answerErrors } from '../../base/http/answer-errors.ts'
import { createClientReader } from '../../base/http/client.ts'
import { appOf, identify, setHeaders } from '../../base/http/opening-steps.ts'
import { cookieScope } from '../../base/http/request.ts'
import { createSites } from '../../base/http/sites.ts'
import { createCheckedAddresses } from '../../base/outbound/checked-addresses.ts'
import { createAudit } from '../../host/access/audit.ts'
import { openHostDatabase } from '../../host/database/open.ts'
import { readArrival } from '../../host/login/arrival.ts'
import type { AuthenticatorQuestion } from '../../host/login/ask-authenticator.ts'
import { createPasskeyPlaces } from '../../host/login/passkey-places.ts'
import { createMaintenance } from '../../host/maintenance/maintenance.ts'
import { createOAuth } from '../../host/oauth/oauth.ts'
import type { WrittenOAuthSettings } from '../../host/oauth/oauth-settings.ts'
import { addOAuthRoutes, signInAtProvider } from '../../host/oauth/routes.ts'
import { checkHeaders, checkMethod, readTarget } from '../../host/outbound/check-request.ts'
import type { Outbound } from '../../host/outbound/outbound.ts'
import { createSignInPolicies } from '../../host/second-step/policies.ts'
import { createSecondSteps } from '../../host/second-step/second-steps.ts'
import { createSecrets } from '../../host/secrets/secrets.ts'
import type { EntryRunner } from '../../host/solutions/run-entry.ts'
import type { NewLogLine, SolutionLog } from '../../host/solutions/solution-log.ts'
import { checkManifest } from '../../runtime/bundle/manifest.ts'
import { PlatformError } from '../../runtime/errors.ts'
import { createLimits, type LimitName } from '../../runtime/limits.ts'
import { askOf } from './ask-app.ts'
import { CLIENT_SECRET } from './client-secret.ts'
import type { ask } from './http.ts'
import type { PlayedProvider, ProviderRequest, Reply } from './misbehaving-provider.ts'

export type OAuthInMemory = {
  readonly url: string
  /** Sends a request to the host or the provider, like a browser. */
  readonly ask: typeof ask
  /** Stores the solution's client secret. The host may send it only to these hosts. */
  readonly setSecret: (solution: string, hosts: readonly string[]) => Promise<void>
  readonly linesOf: (solution: string) => readonly NewLogLine[]
  /** Returns everything that the platform has logged. */
  readonly logged: () => string
  readonly audited: () => Promise<string>
  /** Addresses that the host tried to reach although no server is simulated there. */
  readonly reached: readonly string[]
  readonly stop: () => Promise<void>
}

/** Returns the OAuth settings of a solution, in place of its script. `params` are the URL's query parameters. */
export type ConfigurationOf = (solution: string, params: Readonly<Record<string, unknown>>) => WrittenOAuthSettings

/** Simulates a server that the host can reach: returns the response to a request. */
export type Answering = (request: ProviderRequest) => Reply | Promise<Reply>

const HOST_PORT = '127.0.0.1:1'

/**
 * Runs sign-ins with a provider, without servers, sandbox processes or a network. The host's code is real. Functions
 * replace the scripts, and the provider is called directly. Every name resolves to loopback.
 * @param others other servers that the host may reach
 */
export async function createOAuthInMemory(
  provider: PlayedProvider,
  configurationOf: ConfigurationOf,
  options: {
    readonly limits?: Partial<Record<LimitName, number>>
    readonly onSolutionOpen?: AuthenticatorQuestion
    readonly others?: Readonly<Record<string, Answering>>
    /** A folder for the host's data, such as that of an earlier instance. The caller removes it. */
    readonly home?: string
    /** Returns OAuth settings from a solution's manifest. If it returns null, the settings are from the script. */
    readonly writtenOf?: (solution: string) => WrittenOAuthSettings | null
  } = {},
): Promise<OAuthInMemory> {
  const places = { ...options.others, [provider.hostPort]: provider.answer }
  const reached: string[] = []
  const home = options.home ?? mkdtempSync(join(tmpdir(), 'solhost-oauth-'))
  const db = await openHostDatabase(home)
  const key = await openPlatformKey(db, home, '')
  const limits = createLimits(options.limits)
  const logged: string[] = []
  const log = pino({ level: 'debug' }, { write: (line: string) => void logged.push(line) })
  const lines: { readonly solution: string; readonly line: NewLogLine }[] = []
  const solutionLog = {
    write: (solution: string, line: NewLogLine) => void lines.push({ solution, line }),
  } as SolutionLog
  const audit = createAudit(db, limits)
  const secrets = createSecrets(db, key)
  const sites = createSites({ solutionOrigin: null, publicUrl: null, allowedHosts: [] }, () => 1)
  const runEntry: EntryRunner = async (solution, { args: [params] }) => {
    const values = configurationOf(solution.name, params as Record<string, unknown>)
    return { failure: null, effects: noEffects(), values, hasValues: true }
  }
  const needs = {
    db,
    key,
    limits,
    log,
    outbound: outboundTo(places, reached),
    allowedHosts: Object.keys(places),
    secrets,
    runEntry,
    askAuthenticator: options.onSolutionOpen ?? byVerifiedEmail,
    sites,
    sessions: createSessions(db, limits),
    remembered: createRemembered(db, key, limits),
    users: { get: async () => null },
    formTokens: createFormTokens(key),
    solutionLog,
    audit,
    maintenance: createMaintenance(db),
    secondStep: createSecondSteps({
      db,
      key,
      limits,
      passwords: { run: (work) => work() },
      formTokens: createFormTokens(key),
      passkeyPlaces: createPasskeyPlaces(
        { passkeys: 'auto', passkeyDomain: null, host: '127.0.0.1', publicUrl: null },
        sites,
      ),
      policies: createSignInPolicies(db),
      isShared: false,
    }).secondStep,
  }
  const { parts } = createOAuth(needs)
  const solutions = new Map<string, ActiveSolution>()

  async function needSolution(ctx: Context): Promise<ActiveSolution> {
    const name = String((ctx.params as { solution: string }).solution)
    const found = solutions.get(name) ?? solutionNamed(name, options.writtenOf?.(name) ?? null)
    solutions.set(name, found)
    return found
  }

  const router = new Router({ prefix: '/solution/:solution', sensitive: true })
  router.get('/index.html', async (ctx) => {
    const arrival = readArrival(ctx, await needSolution(ctx), 'en', sites)
    const found = (await findSession(ctx, arrival.scope, parts.sessions)) ?? (await signInAtProvider(arrival, parts))
    if (found !== null) ctx.body = `<p>Signed in as ${found.session.username}</p>`
  })
  router.get('/session', async (ctx) => {
    const { name } = await needSolution(ctx)
    const found = await findSession(ctx, cookieScope(ctx, sites, name), parts.sessions)
    if (found === null)
      throw new PlatformError('ERR_UNAUTHENTICATED', 'You are not signed in. Sign in, then try again.')
    const { username, permissions } = found.session
    ctx.body = JSON.stringify({ username, permissions })
  })
  addOAuthRoutes(router, needSolution, () => 'en', parts)
  const app = appOf([identify(createClientReader([])), setHeaders, answerErrors(log), router.routes() as Middleware])
  const askHost = askOf(app)

  return {
    url: `http://${HOST_PORT}`,
    ask: (address, asked = {}) =>
      (new URL(address).host === HOST_PORT ? askHost : askProvider(provider))(address, asked),
    setSecret: (solution, hosts) => secrets.put(solution, 'CLIENT', CLIENT_SECRET, hosts),
    reached,
    linesOf: (solution) => lines.filter((one) => one.solution === solution).map(({ line }) => line),
    logged: () => logged.join(''),
    async audited() {
      await audit.flush()
      return JSON.stringify(await db.selectFrom('audit').selectAll().execute())
    },
    async stop() {
      await audit.flush()
      await db.destroy()
      if (options.home === undefined) rmSync(home, { recursive: true })
    },
  }
}

/** Returns a function that passes a browser's requests to the provider. */
function askProvider(provider: PlayedProvider): typeof ask {
  return async (address, { method = 'GET', headers = {}, body = '' } = {}) => {
    const answer = provider.answer({ method, url: new URL(address), headers, body: String(body) })
    const { status, type, body: text } = answer
    const given = { 'content-type': type, ...answer.headers }
    return { status, headers: given, text, json: () => JSON.parse(text) as unknown }
  }
}

/** Applies the host's real rules for outgoing requests, but calls functions in place of the network. */
function outboundTo(places: Readonly<Record<string, Answering>>, reached: string[]): Outbound {
  const checkedAddresses = createCheckedAddresses({
    allowedPrivate: Object.keys(places),
    setting: 'OAUTH_ALLOWED_HOSTS',
    lookUp: async () => [{ address: '127.0.0.1', family: 4 }],
  })
  return {
    async request({ url, method, headers, body, maxBytes, timeoutMs }) {
      const target = readTarget(url)
      const { place } = target
      checkMethod(method, body !== null)
      const sent = Object.fromEntries(checkHeaders(headers))
      await checkedAddresses(target)
      const answering = places[place]
      if (answering === undefined) {
        reached.push(place)
        throw new PlatformError('ERR_OUTBOUND_FAILED', `nobody is at ${place}`)
      }
      const answer = await answering({ method, url: new URL(url), headers: sent, body: String(body ?? '') })
      const { status, type, body: text, isEndless = false } = answer
      if (isEndless)
        throw new PlatformError('ERR_OUTBOUND_TIME', `the request to ${place} took longer than ${timeoutMs} ms`, {
          place,
        })
      const bytes = Buffer.from(text)
      if (bytes.length > maxBytes) {
        const message = `the response from ${place} is larger than ${maxBytes} bytes`
        throw new PlatformError('ERR_OUTBOUND_SIZE', message, { place })
      }
      return { status, headers: { 'content-type': type, ...answer.headers }, body: bytes }
    },
  }
}

/** Replaces a solution's `onSolutionOpen` function. Accepts users with a verified email address. */
export const byVerifiedEmail: AuthenticatorQuestion = async (_asking, { last_login }) => {
  const { email, email_verified, iss, sub } = last_login as Record<string, unknown>
  if (email_verified !== true) return { kind: 'refused', effects: noEffects(), values: {} }
  const login = { username: String(email), uid: `${iss}#${String(sub).slice(0, 50)}`, permissions: ['Users'] }
  return { kind: 'accepted', login, effects: noEffects(), user: null }
}

function solutionNamed(name: string, oauth: WrittenOAuthSettings | null): ActiveSolution {
  const mode = oauth === null ? { authenticator: 'OAUTH_AUTHENTICATOR' } : { authenticator: 'OAUTH', oauth }
  const { manifest } = checkManifest({ name, version: '1.0.0', modules: ['auth'], ...mode }, 'solution.json')
  if (manifest === null) throw new TypeError(`"${name}" cannot be a solution`)
  return { name, title: name, manifest, entries: { authenticator: ['getOAuthConfig'] } } as unknown as ActiveSolution
}
