import { once } from 'node:events'
import { mkdtempSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { CLIENT_SECRET } from './client-secret.ts'
import type { TestHost } from './host.ts'
import { ask } from './http.ts'
import { startMisbehavingProvider } from './misbehaving-provider.ts'
import { addOAuthSolution, logOf } from './oauth.ts'
import { startOAuthHost } from './oauth-host.ts'
import { ALL_WAYS, type PlayedSignIns, settingsOf, signInsAt } from './played-sign-ins.ts'
import { runFolder } from './run-folder.ts'
import { askAdmin } from './users.ts'

export type PlayedHost = PlayedSignIns & { readonly host: TestHost; readonly thief: Thief }

/**
 * An attacker's server. The host's network rules allow requests to it, so only other checks can protect the secrets.
 */
type Thief = { readonly hostPort: string; readonly base: string; readonly got: readonly string[] }

const NAME = 'played'

const SCRIPT = `function getOAuthConfig(q) {
  const configuration = SETTINGS[q.way || 'query']
  configuration.issuer = BASE + q.stage
  if (q.failed) configuration.login_failed_url = q.failed
  return configuration
}
function onSolutionOpen(arg, q) {
  const { email, email_verified, iss, sub } = q.last_login
  application.output('shown ' + JSON.stringify([q.last_login.uid, q.last_login.permissions, typeof q.last_login.last_login]))
  if (email_verified) security.login(email, iss + '#' + sub.slice(0, 50), ['Users'])
}`

/**
 * Starts a host with one solution, and a misbehaving provider. The URL's query parameters `stage` and `way` select the
 * issuer and the flow.
 */
async function startPlayedHost(properties: Record<string, string>, home: string): Promise<PlayedHost> {
  const [provider, thief] = [await startMisbehavingProvider(), await startThief()]
  const host = await startOAuthHost([provider, thief], properties, { home })
  const settings = Object.fromEntries(ALL_WAYS.map((way) => [way, settingsOf(way)]))
  await addOAuthSolution(host, {
    name: NAME,
    oauth: {},
    script: `const SETTINGS = ${JSON.stringify(settings)}, BASE = '${provider.base}/'\n${SCRIPT}`,
    manifest: { authenticator: 'OAUTH_AUTHENTICATOR', oauth: undefined },
  })
  const secret = { value: CLIENT_SECRET, hosts: [provider.hostPort] }
  await askAdmin(host, 'PUT', `solutions/${NAME}/secrets/CLIENT`, secret, 204)
  const signIns = signInsAt({
    host,
    provider,
    ask,
    solutionOf: () => NAME,
    linesOf: (solution) => logOf(host, solution),
    audited: async () => JSON.stringify(await askAdmin(host, 'GET', 'audit?limit=200')),
  })
  return { ...signIns, host, thief }
}

let shared: Promise<PlayedHost> | undefined

/**
 * Returns the host that this worker's test files share (see `sharedHost`). Its time limits are long enough for a busy
 * machine. Each use of a remembered login sends a request to the provider.
 */
export function sharedPlayedHost(): Promise<PlayedHost> {
  shared ??= startPlayedHost({ OAUTH_TIME: '3s', REMEMBER_GRACE: '1ms' }, mkdtempSync(join(runFolder(), 'home-')))
  return shared
}

async function startThief(): Promise<Thief> {
  const got: string[] = []
  const server = createServer((request, response) => {
    got.push(`${request.method} ${request.url}`)
    request.resume()
    response.setHeader('content-type', 'application/json')
    response.end('{}')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const hostPort = `127.0.0.1:${(server.address() as AddressInfo).port}`
  return { hostPort, base: `http://${hostPort}`, got }
}
