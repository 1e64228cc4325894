import type { LimitName } from '../../runtime/limits.ts'
import { createPlayedProvider, type PlayedProvider } from './misbehaving-provider.ts'
import { createOAuthInMemory, type OAuthInMemory } from './oauth-in-memory.ts'
import { ALL_WAYS, type PlayedSignIns, settingsOf, signInsAt, type Way } from './played-sign-ins.ts'

/** Like `startPlayedHost`, but in memory: without a server, process or network. */
export async function createPlayedInMemory(
  limits: Partial<Record<LimitName, number>> = {},
  home?: string,
  provider: PlayedProvider = createPlayedProvider('127.0.0.1:2'),
): Promise<PlayedSignIns & Pick<OAuthInMemory, 'stop'>> {
  const { linesOf, ...host } = await createOAuthInMemory(
    provider,
    (way, { stage, failed }) => ({
      ...settingsOf(way as Way),
      issuer: `${provider.base}/${stage}`,
      ...(failed === undefined ? {} : { login_failed_url: String(failed) }),
    }),
    { limits, ...(home === undefined ? {} : { home }) },
  )
  for (const way of ALL_WAYS) await host.setSecret(way, [provider.hostPort])
  const { ask, audited, stop } = host
  const place = { host, provider, ask, audited, solutionOf: (way: Way) => way }
  return { ...signInsAt({ ...place, linesOf: async (solution) => linesOf(solution) }), stop }
}
