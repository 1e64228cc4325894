import Router, { type RouterMiddleware } from '@koa/router'
import { addDescription, openApi } from '../base/api/open-api.ts'
import { createLimits, type Limits } from '../runtime/limits.ts'
import type { Audit } from './access/audit.ts'
import { type AdminRight, type AdminRoute, addAdminRoutes } from './access/route.ts'
import { auditRoutes } from './audit/api.ts'
import { type DirectoryApiParts, directoryRoutes } from './directories/api.ts'
import { type DraftApiParts, draftRoutes } from './drafts/api.ts'
import { type EndpointApiParts, endpointRoutes } from './endpoints/api.ts'
import { type GrantApiParts, grantRoutes } from './grants/api.ts'
import { type HealthApiParts, healthRoutes } from './health/api.ts'
import { type JobApiParts, jobRoutes } from './jobs/api.ts'
import { type LoginTokenApiParts, loginTokenRoutes } from './login/login-token-api.ts'
import { type LoginPageApiParts, loginPageRoutes } from './login-pages/api.ts'
import { type MaintenanceApiParts, maintenanceRoutes } from './maintenance/api.ts'
import { type OAuthApiParts, oauthRoutes } from './oauth/api.ts'
import { type SignInPolicyApiParts, signInPolicyRoutes } from './second-step/api.ts'
import { type FactorApiParts, factorRoutes } from './second-step/factors-api.ts'
import { type SecretApiParts, secretRoutes } from './secrets/api.ts'
import { type LinkApiParts, linkRoutes } from './self-service/api.ts'
import { type SessionApiParts, sessionRoutes } from './sessions/api.ts'
import { type SettingsApiParts, settingsRoutes } from './settings/api.ts'
import { type SolutionApiParts, solutionRoutes } from './solutions/api.ts'
import { type VersionApiParts, versionRoutes } from './solutions/versions-api.ts'
import { type TestingApiParts, testingRoutes } from './testing/api.ts'
import { type TokenApiParts, tokenRoutes } from './tokens/api.ts'
import { type UserApiParts, userRoutes } from './users/api.ts'

export type AdminApiParts = SolutionApiParts &
  VersionApiParts &
  HealthApiParts &
  SettingsApiParts &
  LoginPageApiParts &
  DraftApiParts &
  EndpointApiParts &
  JobApiParts &
  GrantApiParts &
  SecretApiParts &
  LoginTokenApiParts &
  OAuthApiParts &
  SignInPolicyApiParts &
  FactorApiParts &
  DirectoryApiParts &
  TokenApiParts &
  SessionApiParts &
  MaintenanceApiParts &
  TestingApiParts &
  UserApiParts &
  LinkApiParts & {
    /**
     * Authenticates admin requests. Both ports use the same middleware, so that their failures are counted together.
     */
    readonly requireAdmin: RouterMiddleware
    readonly audit: Audit
    readonly limits: Limits
    readonly version: string
  }

/** The API under `/admin/api`. */
export function adminApi(parts: AdminApiParts): Router {
  const router = new Router({ prefix: ADMIN_API, sensitive: true })
  // Inside the router, the check applies to every path that matches a route, even if it is spelled in an unusual way.
  router.use(parts.requireAdmin)
  addDescription(router, () => describeAdminApi(parts.version))
  addAdminRoutes(router, adminRoutes(parts), parts)
  return router
}

/** The path prefix of all API routes. */
export const ADMIN_API = '/admin/api'

function adminRoutes(parts: AdminApiParts): AdminRoute[] {
  return [
    ...solutionRoutes(parts),
    ...healthRoutes(parts),
    ...settingsRoutes(parts),
    ...versionRoutes(parts),
    ...loginPageRoutes(parts),
    ...draftRoutes(parts),
    ...endpointRoutes(parts),
    ...jobRoutes(parts),
    ...grantRoutes(parts),
    ...secretRoutes(parts),
    ...loginTokenRoutes(parts),
    ...oauthRoutes(parts),
    ...signInPolicyRoutes(parts),
    ...factorRoutes(parts),
    ...directoryRoutes(parts),
    ...tokenRoutes(parts),
    ...sessionRoutes(parts),
    ...auditRoutes(parts),
    ...maintenanceRoutes(parts),
    ...testingRoutes(parts),
    ...userRoutes(parts),
    ...linkRoutes(parts),
  ]
}

/** Returns the API's routes to generate its description. They have no working dependencies, so they can't be called. */
export function declaredRoutes(): AdminRoute[] {
  return adminRoutes({ limits: createLimits() } as AdminApiParts)
}

/** The OpenAPI 3.1 document of the API. */
export function describeAdminApi(version: string): object {
  return openApi(declaredRoutes(), {
    title: 'Solhost admin API',
    version,
    prefix: ADMIN_API,
    securitySchemes: { admin: { type: 'http', scheme: 'basic' }, token: { type: 'http', scheme: 'bearer' } },
    need: needOf,
  })
}

/** The required token scope, as text for the API description. */
function needOf(right: AdminRight): string {
  if (right === 'account') return 'For the admin account only.'
  if (right === null) return 'For the admin account, and tokens with the scope `admin`.'
  return right === 'any' ? 'For the admin account and any API token.' : `Requires the scope \`${right}\`.`
}
