import { CLIENT_SECRET } from './client-secret.ts'
import type { TestHost } from './host.ts'
import { ask } from './http.ts'
import { startMisbehavingProvider } from './misbehaving-provider.ts'
import { addOAuthSolution, logOf } from './oauth.ts'
import { startOAuthHost } from './oauth-host.ts'
import { ALL_WAYS, type PlayedSignIns, settingsOf, signInsAt } from './played-sign-ins.ts'
import { askAdmin } from './users.ts'

export type PlayedHost = PlayedSignIns & { readonly host: TestHost }

const NAME = 'played'

const SCRIPT = `function getOAuthConfig(q) {
  const configuration = SETTINGS[q.way || 'query']
  configuration.issuer = BASE + q.stage
  if (q.failed) configuration.login_failed_url = q.failed
  return configuration
}
function onSolutionOpen(arg, q) {
  const { email, email_verified, iss, sub } = q.last_login
  if (email_verified) security.login(email, iss + '#' + sub.slice(0, 50), ['Users'])
}`

/** A host with a solution that chooses stage and way by the query parameters `stage` and `way`, and a misbehaving provider. */
export async function startPlayedHost(properties: Record<string, string> = {}): Promise<PlayedHost> {
  const provider = await startMisbehavingProvider()
  const host = await startOAuthHost([provider], properties)
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
    async stop() {
      await host.stop()
      await provider.stop()
    },
  })
  return { ...signIns, host }
}
