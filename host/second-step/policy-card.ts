import type { ActiveSolution } from '../../base/bundles/active-solution.ts'
import { permissionsOf } from '../../base/bundles/prepared-solution.ts'
import { LONGEST_GRACE, warnOfPolicy } from './api.ts'
import type { SignInPolicies } from './policies.ts'

/** What the card for the sign-in policy on a solution's page shows; null if the solution has no sign-in. */
export async function policyCard(name: string, active: ActiveSolution | null, policies: SignInPolicies) {
  const policy = await policies.policyFor({ name, manifest: active?.manifest ?? null })
  if (active?.manifest.authenticator === 'NONE' && policy.source !== 'operator') return null
  const listed = active && permissionsOf(active)
  return {
    policy,
    // Permissions that the policy names stay in it, unless the operator removes them.
    permissions: [...new Set([...(listed ?? []), ...(policy.requiredFor ?? [])])],
    longestGrace: LONGEST_GRACE,
    warnings: warnOfPolicy(policy, listed),
  }
}
