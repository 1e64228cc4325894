import Router from '@koa/router'
import type { Middleware } from 'koa'
import { type AuditPageParts, addAuditPages } from './audit.ts'
import { addHealthPages, type HealthPageParts } from './health.ts'
import { addLoginPagePages, type LoginPagePageParts } from './login-page.ts'
import { addLoginPreviewRoutes, type LoginPreviewParts } from './login-preview.ts'
import { addMaintenancePages, type MaintenancePageParts } from './maintenance.ts'
import { addOAuthPages, type OAuthPageParts } from './oauth.ts'
import { createPageRouter } from './page.ts'
import { addScriptRoute } from './script.ts'
import { addSessionPages, type SessionPageParts } from './sessions.ts'
import { addSettingsPages, type SettingsPageParts } from './settings.ts'
import { addSignInRoutes, type SignInParts } from './sign-in.ts'
import { addSolutionPages, type SolutionPageParts } from './solutions.ts'
import { addTokenPages, type TokenPageParts } from './tokens.ts'
import { addUserPages, type UserPageParts } from './users.ts'

export type AdminPageParts = SignInParts &
  SolutionPageParts &
  LoginPagePageParts &
  LoginPreviewParts &
  OAuthPageParts &
  AuditPageParts &
  MaintenancePageParts &
  HealthPageParts &
  SettingsPageParts &
  SessionPageParts &
  TokenPageParts &
  UserPageParts

/**
 * The pages under `/admin/`, on the admin port only. They read what they show; what changes something goes through the
 * API, from the page's own script (host/web/admin/), so that nothing can be done here that cannot be done there.
 */
export function adminPages(parts: AdminPageParts): Router {
  const router = new Router({ prefix: '/admin', sensitive: true, strict: true })
  addScriptRoute(router)
  addSignInRoutes(router, parts)
  const pages = createPageRouter(router)
  addSolutionPages(pages, parts)
  addLoginPagePages(pages, parts)
  addLoginPreviewRoutes(router, parts)
  addOAuthPages(pages, parts)
  addAuditPages(pages, parts)
  addMaintenancePages(pages, parts)
  addHealthPages(pages, router, parts)
  addSettingsPages(pages, parts)
  addSessionPages(pages, parts)
  addTokenPages(pages, parts)
  addUserPages(pages, parts)
  return router
}

/** What people type into the address bar. */
export const leadToPages: Middleware = (ctx, next) => {
  if (ctx.path !== '/' && ctx.path !== '/admin') return next()
  ctx.status = 302
  ctx.set('Location', '/admin/')
}
