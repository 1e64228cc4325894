import type { DesiredStates } from '../desired/desired.ts'
import type { Reports } from '../satellites/reports.ts'

export type DesiredVersion = { readonly sha256: string; readonly version: string }

/**
 * The version of a package that an environment has before a rollout changes it; null if it has none. Chosen here: if no
 * version has been requested for the environment yet, the version reported by its Satellite is used.
 */
export async function versionBefore(
  { desiredStates, reports }: { readonly desiredStates: DesiredStates; readonly reports: Pick<Reports, 'live'> },
  environment: string,
  name: string,
): Promise<DesiredVersion | null> {
  const { solutions } = await desiredStates.get(environment)
  if (Object.hasOwn(solutions, name)) return solutions[name] ?? null
  const nodes = await reports.live(environment)
  const ran = nodes.flatMap((node) => node.solutions).find((solution) => solution.name === name)
  return ran?.sha256 ? { sha256: ran.sha256, version: ran.version } : null
}
