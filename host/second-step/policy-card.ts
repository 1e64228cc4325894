import type { ActiveSolution } from '../../base/bundles/active-solution.ts'
import { permissionsOf } from '../../base/bundles/prepared-solution.ts'
import { signInModeOf } from '../login/sign-in-mode.ts'
import { LONGEST_GRACE, type SignInPolicyApiParts, warnOfPolicy } from './api.ts'

/** The data for the sign-in policy card on a solution's page; null if the solution has no sign-in. */
export async function policyCard(
  name: string,
  active: ActiveSolution | null,
  { policies, passkeyPlaces }: Pick<SignInPolicyApiParts, 'policies' | 'passkeyPlaces'>,
) {
  const hasPasskeys = passkeyPlaces.isOfferedFor(name)
  const policy = await policies.policyFor({ name, manifest: active?.manifest ?? null })
  if (active?.manifest.authenticator === 'NONE' && policy.source !== 'operator') return null
  const listed = active && permissionsOf(active)
  return {
    policy,
    // Include the policy's permissions, even if no manifest lists them. Otherwise, saving the form would remove them.
    permissions: [...new Set([...(listed ?? []), ...(policy.requiredFor ?? [])])],
    hasPasskeys,
    longestGrace: LONGEST_GRACE,
    canLink: active !== null && signInModeOf(active) === 'DEFAULT',
    warnings: warnOfPolicy(policy, listed, hasPasskeys),
  }
}
