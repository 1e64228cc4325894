import { deletedAny } from '../../base/database/deleted-any.ts'
import { put } from '../../base/database/portable.ts'
import type { AuthenticatorMode, Manifest } from '../../runtime/bundle/manifest.ts'
import { createBriefCache } from '../database/brief-cache.ts'
import type { HostDatabase } from '../database/tables.ts'
import type { SignInPolicy } from './policy.ts'

/** The policy that applies, and its source. */
export type PolicyInForce = SignInPolicy & { readonly source: 'operator' | 'manifest' | 'default' }

/** `manifest` null: the solution has no active version. */
export type PolicyOf = {
  readonly name: string
  readonly manifest: Pick<Manifest, 'authenticator' | 'signIn'> | null
}

/** The sign-in policies of solutions. An operator's policy replaces the one in the manifest. */
export interface SignInPolicies {
  /** The operator's policy is cached for at most 1 s; changes on this host apply immediately. */
  policyFor(solution: PolicyOf): Promise<PolicyInForce>
  /** Sets the operator's policy. It applies from each user's next sign-in. */
  put(solution: string, policy: SignInPolicy): Promise<void>
  /** @returns false if the operator had not set a policy */
  remove(solution: string): Promise<boolean>
}

/** In these modes, the provider decides by default whether to ask for a second factor. */
const PROVIDER_MODES: readonly AuthenticatorMode[] = ['OAUTH', 'OAUTH_AUTHENTICATOR']

/** @param now returns the current time in epoch milliseconds */
export function createSignInPolicies(db: HostDatabase, now: () => number = Date.now): SignInPolicies {
  const cache = createBriefCache(async (solution) => {
    const rows = db.selectFrom('sign_in_policies').select('value').where('solution', '=', solution)
    const row = await rows.executeTakeFirst()
    return row === undefined ? null : (JSON.parse(row.value) as SignInPolicy)
  }, now)

  return {
    async policyFor({ name, manifest }) {
      const ofOperator = await cache.get(name)
      return ofOperator === null ? policyOfManifest(manifest) : { ...ofOperator, source: 'operator' }
    },
    async put(solution, { level, requiredFor, graceDays, setUpByLink }) {
      const value = JSON.stringify({ level, requiredFor, graceDays, setUpByLink })
      await put(db, 'sign_in_policies', ['solution'], { solution, value, updated_at: now() })
      cache.forget(solution)
    },
    async remove(solution) {
      const isRemoved = await deletedAny(db.deleteFrom('sign_in_policies').where('solution', '=', solution))
      cache.forget(solution)
      return isRemoved
    },
  }
}

function policyOfManifest(manifest: PolicyOf['manifest']): PolicyInForce {
  const signIn = manifest?.signIn ?? null
  if (signIn !== null) {
    return { level: signIn.secondFactor, requiredFor: signIn.requiredFor, graceDays: 0, source: 'manifest' }
  }
  const isAtProvider = manifest !== null && PROVIDER_MODES.includes(manifest.authenticator)
  return { level: isAtProvider ? 'off' : 'optional', requiredFor: null, graceDays: 0, source: 'default' }
}
