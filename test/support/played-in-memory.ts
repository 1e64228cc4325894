import type { LimitName } from '../../runtime/limits.ts'
import { createPlayedProvider } from './misbehaving-provider.ts'
import { createOAuthInMemory } from './oauth-in-memory.ts'
import { type PlayedSignIns, settingsOf, signInsAt, type Way } from './played-sign-ins.ts'

/** The same as `startPlayedHost`, without server, process or network. */
export async function createPlayedInMemory(changes: Partial<Record<LimitName, number>> = {}): Promise<PlayedSignIns> {
  const provider = createPlayedProvider('127.0.0.1:2')
  const { linesOf, ...host } = await createOAuthInMemory(
    provider,
    (way, { stage, failed }) => ({
      ...settingsOf(way as Way),
      issuer: `${provider.base}/${stage}`,
      ...(failed === undefined ? {} : { login_failed_url: String(failed) }),
    }),
    changes,
  )
  const { ask, audited, stop } = host
  return signInsAt({
    host,
    provider,
    ask,
    audited,
    stop,
    solutionOf: (way) => way,
    linesOf: async (solution) => linesOf(solution),
  })
}
