import { DONE } from '../../base/api/route.ts'
import { permissionsOf } from '../../base/bundles/prepared-solution.ts'
import { counted } from '../../base/program/counted.ts'
import { canRequire, RequiredFor } from '../../runtime/bundle/manifest-schema.ts'
import { PlatformError } from '../../runtime/errors.ts'
import { z } from '../../runtime/zod.ts'
import { type AdminRoute, route } from '../access/route.ts'
import { Warnings } from '../grants/api.ts'
import type { PasskeyPlaces } from '../login/passkey-places.ts'
import { signInModeOf } from '../login/sign-in-mode.ts'
import type { Catalog } from '../solutions/catalog.ts'
import { findSolution, namedSolution, type OfSolution } from '../solutions/find-solution.ts'
import type { SolutionStore } from '../solutions/solution-store.ts'
import type { SignInPolicies } from './policies.ts'
import { LEVELS, type SignInPolicy } from './policy.ts'

export type SignInPolicyApiParts = {
  readonly store: SolutionStore
  readonly catalog: Catalog
  readonly policies: SignInPolicies
  readonly passkeyPlaces: Pick<PasskeyPlaces, 'isOfferedFor'>
}

/** The longest grace period, in days. */
export const LONGEST_GRACE = 30

const SignInPolicyForm = z
  .strictObject({
    level: z.enum(LEVELS, { error: `must be one of ${LEVELS.join(', ')}` }),
    requiredFor: RequiredFor.optional().describe('the permissions that require a second factor; default: all users'),
    graceDays: z
      .int({ error: `must be a whole number from 0 to ${LONGEST_GRACE}` })
      .min(0, { error: `must be a whole number from 0 to ${LONGEST_GRACE}` })
      .max(LONGEST_GRACE, { error: `must be a whole number from 0 to ${LONGEST_GRACE}` })
      .default(0)
      .describe(
        'for how many days users can postpone setting up a second factor; the period starts when they are first asked to',
      ),
    setUpByLink: z
      .boolean()
      .default(false)
      .describe('whether a user without a second factor can set one up only with a link of the kind `set-up`'),
  })
  .refine(({ level, requiredFor }) => requiredFor === undefined || canRequire(level), {
    path: ['requiredFor'],
    error: 'requires "level" to be "required" or "passkey"',
  })
  .refine(({ level, graceDays }) => graceDays === 0 || canRequire(level), {
    path: ['graceDays'],
    error: 'requires "level" to be "required" or "passkey"',
  })
  .meta({ id: 'SignInPolicyForm' })

const SignInPolicyInForce = z
  .object({
    level: z.enum(LEVELS),
    requiredFor: z
      .array(z.string())
      .nullable()
      .describe('the permissions that require a second factor; null for all users'),
    graceDays: z.int(),
    setUpByLink: z.boolean(),
    source: z.enum(['operator', 'manifest', 'default']).describe('where the policy was set'),
  })
  .extend(Warnings.shape)
  .meta({ id: 'SignInPolicy' })

/** The operator's policy on second factors for a solution, which replaces the one in its manifest. */
export function signInPolicyRoutes({ store, catalog, policies, passkeyPlaces }: SignInPolicyApiParts): AdminRoute[] {
  const find = ({ params }: OfSolution) => findSolution(store, params.name)

  async function shown(name: string) {
    const active = await catalog.active(name)
    const policy = await policies.policyFor({ name, manifest: active?.manifest ?? null })
    const { setUpByLink = false } = policy
    return {
      ...policy,
      setUpByLink,
      warnings: warnOfPolicy(policy, active && permissionsOf(active), passkeyPlaces.isOfferedFor(name)),
    }
  }

  /**
   * @throws ERR_REQUEST_INVALID if no links can be created for the solution's users: they could never set up a factor
   */
  async function requireLinks(name: string): Promise<void> {
    const active = await catalog.active(name)
    if (active !== null && signInModeOf(active) === 'DEFAULT') return
    throw new PlatformError(
      'ERR_REQUEST_INVALID',
      '"setUpByLink" requires an active version with the authenticator DEFAULT, because only users of such solutions can receive links.',
    )
  }

  return [
    route(
      'GET /solutions/:name/sign-in-policy',
      {
        summary: 'Get the sign-in policy that applies: which users need a second factor, and where the policy was set',
        right: null,
        before: find,
        answers: { 200: SignInPolicyInForce },
      },
      ({ params: { name } }) => shown(name),
    ),
    route(
      'PUT /solutions/:name/sign-in-policy',
      {
        summary: 'Set which users need a second factor; overrides the manifest and applies from the next sign-in',
        // Tokens need the scope `admin`: otherwise, someone with a pipeline's token could turn second factors off.
        right: null,
        act: 'sign-in-policy',
        names: namedSolution,
        before: find,
        body: SignInPolicyForm,
        answers: { 200: SignInPolicyInForce },
      },
      async ({ params: { name }, body: { level, requiredFor = null, graceDays, setUpByLink }, names }) => {
        if (level === 'passkey' && !passkeyPlaces.isOfferedFor(name)) throw passkeysUnavailable(name)
        if (setUpByLink) await requireLinks(name)
        const policy = { level, requiredFor, graceDays, setUpByLink }
        names.target = policyTarget(policy)
        await policies.put(name, policy)
        return shown(name)
      },
    ),
    route(
      'DELETE /solutions/:name/sign-in-policy',
      {
        summary: 'Delete the operator’s policy; the manifest’s policy or the default applies again',
        right: null,
        act: 'sign-in-policy',
        names: namedSolution,
        before: find,
        answers: DONE,
      },
      async ({ params: { name }, names }) => {
        if (await policies.remove(name)) {
          names.target = 'deleted'
          return
        }
        throw new PlatformError('ERR_NOT_FOUND', `The operator has not set a sign-in policy for "${name}".`)
      },
    ),
  ]
}

/** Describes a policy for the audit log, such as `required for Administrators, grace period of 14 days`. */
function policyTarget({ level, requiredFor, graceDays, setUpByLink }: SignInPolicy): string {
  const whom = requiredFor === null ? '' : ` for ${requiredFor.join(', ')}`
  return `${level}${whom}${graceDays === 0 ? '' : `, grace period of ${counted(graceDays, 'day')}`}${setUpByLink ? ', set up by link' : ''}`
}

function passkeysUnavailable(name: string): PlatformError {
  const how =
    'Passkeys require https, a host name instead of an IP address, and SOLUTION_ORIGIN or PASSKEYS=on. Meet these requirements, or choose another level.'
  return new PlatformError('ERR_REQUEST_INVALID', `"level": this host doesn’t offer passkeys for "${name}". ${how}`, {
    level: 'passkey',
  })
}

/**
 * @param listed the permissions that the solution's manifests list; null: any can be granted
 * @param hasPasskeys whether the host offers passkeys for the solution
 */
export function warnOfPolicy(
  { level, requiredFor }: Pick<SignInPolicy, 'level' | 'requiredFor'>,
  listed: readonly string[] | null,
  hasPasskeys: boolean,
) {
  const unlisted = listed === null ? [] : (requiredFor ?? []).filter((name) => !listed.includes(name))
  return [
    ...unlisted.map((name) => ({
      code: 'permission_unlisted',
      message: `The solution’s manifests don’t list the permission "${name}", so it has no effect in the policy. Check the name, or add the permission to a manifest.`,
    })),
    ...(level !== 'passkey' || hasPasskeys
      ? []
      : [
          {
            code: 'passkeys_unavailable',
            message:
              'Nobody can sign in: users must have a passkey, but this host doesn’t offer passkeys for the solution. Set SOLUTION_ORIGIN or PASSKEYS=on, or choose another level.',
          },
        ]),
  ]
}
