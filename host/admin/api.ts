import Router, { type RouterMiddleware } from '@koa/router'
import { addAuditRoutes } from './audit-api.ts'
import { addGrantRoutes, type GrantApiParts } from './grants-api.ts'
import { addHealthRoutes, type HealthApiParts } from './health-api.ts'
import { addLoginPageRoutes, type LoginPageApiParts } from './login-page-api.ts'
import { addMaintenanceRoutes, type MaintenanceApiParts } from './maintenance-api.ts'
import { addOAuthRoutes, type OAuthApiParts } from './oauth-api.ts'
import { openApi } from './openapi.ts'
import { addSessionRoutes, type SessionApiParts } from './sessions-api.ts'
import { addSettingsRoutes, type SettingsApiParts } from './settings-api.ts'
import { addSolutionRoutes, type SolutionApiParts } from './solutions-api.ts'
import { addTestingRoutes, type TestingApiParts } from './testing-api.ts'
import { addTokenRoutes, type TokenApiParts } from './tokens-api.ts'
import { addUserRoutes, type UserApiParts } from './users-api.ts'
import { addVersionRoutes, type VersionApiParts } from './versions-api.ts'

export type AdminApiParts = SolutionApiParts &
  VersionApiParts &
  HealthApiParts &
  SettingsApiParts &
  LoginPageApiParts &
  GrantApiParts &
  OAuthApiParts &
  TokenApiParts &
  SessionApiParts &
  MaintenanceApiParts &
  TestingApiParts &
  UserApiParts & {
    /** Decides who may use it; one for both ports, so that failures on either count. */
    readonly requireAdmin: RouterMiddleware
    readonly version: string
  }

/** The API under `/admin/api` (design section 7). */
export function adminApi(parts: AdminApiParts): Router {
  const router = new Router({ prefix: '/admin/api', sensitive: true })
  // Inside the router, so that what is found as a route cannot be spelled past the check.
  router.use(parts.requireAdmin)
  const document = openApi(parts.version)
  router.get('/openapi.json', (ctx) => {
    ctx.body = document
  })
  addSolutionRoutes(router, parts)
  addHealthRoutes(router, parts)
  addSettingsRoutes(router, parts)
  addVersionRoutes(router, parts)
  addLoginPageRoutes(router, parts)
  addGrantRoutes(router, parts)
  addOAuthRoutes(router, parts)
  addTokenRoutes(router, parts)
  addSessionRoutes(router, parts)
  addAuditRoutes(router, parts)
  addMaintenanceRoutes(router, parts)
  addTestingRoutes(router, parts)
  addUserRoutes(router, parts)
  return router
}
