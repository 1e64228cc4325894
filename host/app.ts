import type { RouterMiddleware } from '@koa/router'
import type Koa from 'koa'
import type { Context, Middleware } from 'koa'
import type { Logger } from 'pino'
import type { FormTokens } from '../base/accounts/form-token.ts'
import type { KnownBrowsers } from '../base/accounts/known-browser.ts'
import type { OpenSignIns } from '../base/accounts/open-sign-ins.ts'
import type { PasskeyRequests } from '../base/accounts/passkey-requests.ts'
import type { Remembered } from '../base/accounts/remembered.ts'
import type { Sessions } from '../base/accounts/sessions.ts'
import type { Throttle } from '../base/accounts/throttle.ts'
import type { Users } from '../base/accounts/users.ts'
import { createProxyCheck } from '../base/http/client.ts'
import type { Draining } from '../base/http/draining.ts'
import { checkMethod } from '../base/http/method-check.ts'
import { appOf, openingSteps } from '../base/http/opening-steps.ts'
import { routesBySegment } from '../base/http/routes-by-segment.ts'
import type { Sites } from '../base/http/sites.ts'
import { redirectToHttps } from '../base/tls/redirect.ts'
import { type ErrorModel, errorPage } from '../base/web/pages.ts'
import type { PageFrame } from '../base/web/render-page.ts'
import type { Supervisor } from '../runtime/supervisor.ts'
import type { AdminSecondStep } from './access/admin-second-step.ts'
import { admitPageSession } from './access/admit-page-session.ts'
import type { Audit } from './access/audit.ts'
import type { AdminCredentials } from './access/credentials.ts'
import type { PageSessions } from './access/page-sessions.ts'
import type { AdminFactors, AdminSignIn } from './admin-factors/admin-factors.ts'
import { ADMIN_API, type AdminApiParts, adminApi } from './api.ts'
import type { Clients } from './clients/clients.ts'
import type { CloudLogin } from './cloud/login/cloud-login.ts'
import type { ManagedSettings } from './cloud/managed/managed-settings.ts'
import type { Settings } from './config/settings.ts'
import type { AnswerEndpoint } from './endpoints/endpoints.ts'
import { refuseWhenFull } from './http/refuse-when-full.ts'
import type { AccountSources } from './login/account-sources.ts'
import type { ChangePasswordPages } from './login/change-password.ts'
import { createLoginPageSender } from './login/login-page.ts'
import type { ClientSignIns } from './login/sign-in-token.ts'
import type { SignOutTargets } from './login/sign-out-target.ts'
import type { PreviewTickets } from './login-pages/preview-tickets.ts'
import { metricsRoute } from './metrics-route.ts'
import type { OAuth } from './oauth/oauth.ts'
import { adminPages, leadToPages } from './pages.ts'
import { solutionRoutes } from './routes.ts'
import type { StepRouteParts } from './second-step/routes.ts'
import type { SelfServiceParts } from './self-service/self-service-parts.ts'
import { adminGate, siteGate } from './site-gate.ts'
import type { Catalog } from './solutions/catalog.ts'
import { type FirstRefusal, showFirstRefusal } from './solutions/first-refusal.ts'
import type { SolutionLog } from './solutions/solution-log.ts'
import type { SolutionStore } from './solutions/solution-store.ts'
import { type StartPageParts, startPage } from './solutions/start-page.ts'
import type { Uploads } from './solutions/upload.ts'
import { measureRequests } from './telemetry/request-telemetry.ts'
import type { Telemetry } from './telemetry/telemetry.ts'

/** Dependencies of the middleware; created by `host/main.ts`. */
export type HostParts = Omit<AdminApiParts, 'log' | 'limits'> &
  Omit<StepRouteParts, 'limits'> &
  Omit<SelfServiceParts, 'limits'> & {
    readonly settings: Settings
    readonly log: Logger
    readonly version: string
    readonly sites: Sites
    readonly requireAdmin: RouterMiddleware
    readonly credentials: AdminCredentials
    readonly pageSessions: PageSessions
    readonly previewTickets: PreviewTickets
    readonly adminFactors: AdminFactors
    readonly adminOpenSignIns: OpenSignIns<AdminSignIn>
    readonly adminPasskeys: PasskeyRequests
    readonly adminSecondStep: AdminSecondStep
    readonly catalog: Catalog
    readonly store: SolutionStore
    readonly uploads: Uploads
    readonly sessions: Sessions
    readonly solutionLog: SolutionLog
    readonly audit: Audit
    readonly remembered: Remembered
    readonly users: Users
    readonly throttle: Throttle
    readonly knownBrowsers: KnownBrowsers
    readonly accountSources: AccountSources
    /** Null if the host is not connected to a control center. */
    readonly cloudLogin: CloudLogin | null
    readonly changePassword: ChangePasswordPages
    readonly formTokens: FormTokens
    readonly clients: Clients
    readonly clientSignIns: ClientSignIns
    readonly signOutTargets: SignOutTargets
    readonly oauth: OAuth
    readonly answerEndpoint: AnswerEndpoint
    readonly refuseFloods: Middleware
    readonly managedSettings: ManagedSettings
    readonly supervisor: Supervisor
    readonly telemetry: Telemetry
    readonly draining: Pick<Draining, 'isReady' | 'isRefusing'>
    readonly hasExamples: StartPageParts['hasExamples']
    readonly localAdminPages: StartPageParts['localAdminPages']
    readonly isLive?: boolean
    /** The errors of the first version in `solhost dev`; null if the host is not live. */
    readonly firstRefusal?: FirstRefusal | null
  }

/** The position of the segment `session` in `/solution/:solution/session`. */
const SOLUTION_PAGE = 3

/** All middleware of the pages port, in order. */
export function createApp(parts: HostParts): Koa {
  const { settings, sites, catalog } = parts
  const sendLoginPage = createLoginPageSender({
    ...parts,
    isTesting: settings.isTesting,
    passwordHelp: settings.passwordHelp,
  })
  return appOf([
    ...opening(parts),
    siteGate(sites, catalog),
    checkMethod,
    refuseWhenFull(parts.supervisor),
    adminApiStep(parts),
    ...(parts.firstRefusal ? [showFirstRefusal(parts.firstRefusal, catalog)] : []),
    closeListInMaintenance(parts),
    startPage({ ...parts, shows: settings.startPage, defaultSolution: parts.managedSettings.defaultSolution }),
    routesBySegment(
      solutionRoutes({
        ...parts,
        limits: settings.limits,
        sendLoginPage,
        oauth: parts.oauth.parts,
        providerLogout: parts.oauth.providerLogout,
        afterLogout: parts.oauth.afterLogout,
      }),
      SOLUTION_PAGE,
    ),
  ])
}

/** All middleware of the admin port, which serves the API and the admin pages. No solution uses this origin. */
export function createAdminApp(parts: HostParts): Koa {
  const { settings, sites, pageSessions } = parts
  const pages = adminPages({ ...parts, limits: settings.limits, sharedOrigin: sites.shared })
  return appOf([
    ...opening(parts, 'admin'),
    adminGate(settings.adminHost, settings.allowedHosts),
    checkMethod,
    admitPageSession(pageSessions),
    adminApiStep(parts),
    metricsRoute(parts.telemetry, parts.requireAdmin as Middleware),
    leadToPages,
    pages.routes() as Middleware,
  ])
}

/** The middleware of the HTTP port, which redirects to HTTPS. @param port returns the HTTPS port */
export function createRedirectApp(parts: HostParts, port: () => number): Koa {
  return appOf([...opening(parts), redirectToHttps(parts.sites, port)])
}

function opening(parts: HostParts, port: 'pages' | 'admin' = 'pages'): Middleware[] {
  const { settings, telemetry, isLive } = parts
  const isFromProxy = createProxyCheck(settings.trustedProxies)
  return openingSteps({
    ...parts,
    errors: { isLive, page: hostErrorPage },
    ...(port === 'pages' ? { early: parts.refuseFloods } : {}),
    measure: measureRequests({ telemetry, port, isFromProxy }),
  })
}

/**
 * An error page. If a mailed link is no longer valid, the page links to the solution's login page. If a request
 * was blocked, for example because its form has expired, it links to the solution.
 */
function hostErrorPage(ctx: Context, frame: PageFrame, model: ErrorModel): string {
  if (model.kind === 'link-over') return errorPage(frame, { ...model, signIn: { href: 'index.html' } })
  const [solution] = /^\/solution\/[^/]+\//.exec(ctx.path) ?? []
  const isBlocked = model.kind === 'forbidden' && solution !== undefined
  return errorPage(frame, isBlocked ? { ...model, retry: { href: `${solution}index.html` } } : model)
}

function adminApiStep(parts: HostParts): Middleware {
  const api = adminApi({ ...parts, log: parts.solutionLog, limits: parts.settings.limits })
  const routes = api.routes() as Middleware
  // For all other paths, skip the router, because it would compare them with each of its routes.
  return (ctx, next) => (ctx.path.startsWith(ADMIN_API) ? routes(ctx, next) : next())
}

/**
 * Blocks only the solution list. A solution's own pages refuse new work themselves, but let users who are signed in
 * continue.
 */
function closeListInMaintenance({ settings, maintenance, managedSettings }: HostParts): Middleware {
  const isList = async () => settings.startPage === 'list' && (await managedSettings.defaultSolution()) === null
  return async (ctx, next) => {
    if (ctx.path === '/' && (await isList())) await maintenance.refuseNewWork()
    return next()
  }
}
