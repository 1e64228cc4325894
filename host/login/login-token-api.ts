import { userTarget } from '../../base/api/targets.ts'
import { permissionsOf } from '../../base/bundles/prepared-solution.ts'
import { Name } from '../../plugins/security/host.ts'
import { PlatformError } from '../../runtime/errors.ts'
import type { Limits } from '../../runtime/limits.ts'
import { isVisible, visible } from '../../runtime/visible-name.ts'
import { z } from '../../runtime/zod.ts'
import { type AdminRoute, route } from '../access/route.ts'
import type { Catalog } from '../solutions/catalog.ts'
import { namedSolution } from '../solutions/find-solution.ts'
import { LONGEST_LIFETIME, type LoginTokens } from './login-token.ts'

export type LoginTokenApiParts = {
  readonly catalog: Catalog
  readonly loginTokens: LoginTokens
  readonly limits: Limits
}

/** Accepts the same names as `security.login`. */
export function loginTokenForm(limits: Limits) {
  const error = `must be ${visible(limits.PERMISSION_LENGTH)}`
  const permission = z.string().min(1).max(limits.PERMISSION_LENGTH).refine(isVisible, { error })
  return z
    .strictObject({
      username: Name,
      uid: Name,
      permissions: z.array(permission).min(1).max(limits.PERMISSIONS),
      expiresIn: z
        .int()
        .min(1000)
        .max(LONGEST_LIFETIME)
        .optional()
        .describe('lifetime in ms; default: LOGIN_TOKEN_LIFETIME'),
    })
    .meta({ id: 'LoginTokenForm' })
}

const LoginToken = z.object({ token: z.string(), expiresAt: z.int().min(0) }).meta({ id: 'LoginToken' })

/** Allows operators to sign a user in to a solution. */
export function loginTokenRoutes({ catalog, loginTokens, limits }: LoginTokenApiParts): AdminRoute[] {
  return [
    route(
      'POST /solutions/:name/login-tokens',
      {
        summary: 'Create a token that signs a user in to the solution once',
        right: 'solutions:{name}:write',
        act: 'solution-login-token',
        names: namedSolution,
        before: ({ params }) => catalog.need(params.name),
        body: loginTokenForm(limits),
        answers: { 201: LoginToken },
      },
      async ({ params, body: { expiresIn, ...login }, names }) => {
        const solution = await catalog.need(params.name)
        names.target = userTarget(login)
        const unknown = login.permissions.find((permission) => permissionsOf(solution)?.includes(permission) === false)
        if (unknown === undefined) return loginTokens.issue(solution.name, login, expiresIn)
        throw new PlatformError(
          'ERR_REQUEST_INVALID',
          `permissions: no manifest of "${solution.name}" lists the permission "${unknown}". Check the name, or add it to a manifest.`,
        )
      },
    ),
  ]
}
