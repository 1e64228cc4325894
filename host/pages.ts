import Router from '@koa/router'
import type { Middleware } from 'koa'
import { addGuideRoutes } from '../base/http/guides.ts'
import type { AdminFactorPageParts } from './admin-factors/page-parts.ts'
import { addAdminFactorPages } from './admin-factors/pages.ts'
import { type AuditPageParts, addAuditPages } from './audit/pages.ts'
import { addDirectoryPages, type DirectoryPageParts } from './directories/pages.ts'
import { addEndpointPages, type EndpointPageParts } from './endpoints/pages.ts'
import { addSolutionAccessPages, type SolutionAccessPageParts } from './grants/pages.ts'
import { addHealthPages, type HealthPageParts } from './health/pages.ts'
import { addJobPages, type JobPageParts } from './jobs/pages.ts'
import { addLoginPagePages, type LoginPagePageParts } from './login-pages/pages.ts'
import { addLoginPreviewRoutes, type LoginPreviewParts } from './login-pages/preview-pages.ts'
import { addMaintenancePages, type MaintenancePageParts } from './maintenance/pages.ts'
import { addOAuthPages, type OAuthPageParts } from './oauth/pages.ts'
import { createPageRouter } from './pages/page.ts'
import { addScriptRoute } from './pages/script.ts'
import { addSignInRoutes, type SignInParts } from './pages/sign-in.ts'
import type { SignInPolicyApiParts } from './second-step/api.ts'
import { policyCard } from './second-step/policy-card.ts'
import { addSessionPages, type SessionPageParts } from './sessions/pages.ts'
import { addSettingsPages, type SettingsPageParts } from './settings/pages.ts'
import { addSolutionPages, type SolutionPageParts } from './solutions/pages.ts'
import { addTokenPages, type TokenPageParts } from './tokens/pages.ts'
import { knownPermissions } from './users/known-permissions.ts'
import { addUserPages, type UserPageParts } from './users/pages.ts'
import { addWorkbenchPages, type WorkbenchPageParts } from './workbench/pages.ts'

export type AdminPageParts = SignInParts &
  AdminFactorPageParts &
  SolutionPageParts &
  SolutionAccessPageParts &
  LoginPagePageParts &
  EndpointPageParts &
  JobPageParts &
  LoginPreviewParts &
  WorkbenchPageParts &
  OAuthPageParts &
  AuditPageParts &
  MaintenancePageParts &
  HealthPageParts &
  SettingsPageParts &
  SessionPageParts &
  TokenPageParts &
  UserPageParts &
  DirectoryPageParts &
  Pick<SignInPolicyApiParts, 'policies' | 'passkeyPlaces'>

/**
 * The pages under `/admin/`, only on the admin port. Apart from signing in and managing the admin account's factors,
 * the pages only read. Their scripts (host/web/admin/) change data only with API requests, so the pages can't do
 * anything that the API can't.
 */
export function adminPages(parts: AdminPageParts): Router {
  const router = new Router({ prefix: '/admin', sensitive: true, strict: true })
  addScriptRoute(router)
  addGuideRoutes(router)
  addSignInRoutes(router, parts)
  addAdminFactorPages(router, parts)
  const pages = createPageRouter(router, parts.workbenchModes.ofHost)
  addSolutionPages(pages, parts)
  addSolutionAccessPages(pages, parts, (name, active) => policyCard(name, active, parts))
  addLoginPagePages(pages, parts)
  addEndpointPages(pages, parts)
  addJobPages(pages, parts)
  addLoginPreviewRoutes(router, parts)
  addWorkbenchPages(pages, router, parts)
  addOAuthPages(pages, parts)
  addAuditPages(pages, parts)
  addMaintenancePages(pages, parts)
  addHealthPages(pages, parts)
  addSettingsPages(pages, parts)
  addSessionPages(pages, parts)
  addTokenPages(pages, parts)
  addUserPages(pages, parts)
  addDirectoryPages(pages, parts, () => knownPermissions(parts.store, parts.catalog))
  return router
}

/** Redirects to `/admin/` from URLs that people are likely to type. */
export const leadToPages: Middleware = (ctx, next) => {
  if (ctx.path !== '/' && ctx.path !== '/admin') return next()
  ctx.status = 302
  ctx.set('Location', '/admin/')
}
