import type { Logger } from 'pino'
import type { FormTokens } from '../../base/accounts/form-token.ts'
import type { Remembered } from '../../base/accounts/remembered.ts'
import type { Sessions } from '../../base/accounts/sessions.ts'
import type { Users } from '../../base/accounts/users.ts'
import type { PlatformKey } from '../../base/config/platform-key.ts'
import type { Sites } from '../../base/http/sites.ts'
import type { Limits } from '../../runtime/limits.ts'
import type { Audit } from '../access/audit.ts'
import type { HostDatabase } from '../database/tables.ts'
import type { AuthenticatorQuestion } from '../login/ask-authenticator.ts'
import type { SecondStepGate } from '../login/second-step-gate.ts'
import type { Maintenance } from '../maintenance/maintenance.ts'
import type { Outbound } from '../outbound/outbound.ts'
import type { Secrets } from '../secrets/secrets.ts'
import type { EntryRunner } from '../solutions/run-entry.ts'
import type { SolutionLog } from '../solutions/solution-log.ts'
import { createAfterLogoutState } from './after-logout.ts'
import { createAnonymousLines } from './anonymous-lines.ts'
import { createConfigurationChooser } from './chosen-configuration.ts'
import { createClaimsReader } from './claims.ts'
import { createClientSecrets } from './client-secret.ts'
import { createOAuthSettings, type OAuthSettingsStore } from './oauth-settings.ts'
import { createProviderFinder } from './provider-finder.ts'
import { createProviderKeys } from './provider-keys.ts'
import { createProviderLogins } from './provider-logins.ts'
import { createProviderLogout } from './provider-logout.ts'
import { createProviderRequests } from './provider-requests.ts'
import { createProviderSource } from './provider-source.ts'
import { createRefresh } from './refresh.ts'
import type { OAuthParts } from './routes.ts'
import { createSettingsTest } from './settings-test.ts'
import { createTokenRequestsOnDemand } from './token-requests-on-demand.ts'
import { createTransactions } from './transactions.ts'

/** The other parts of the host that OAuth sign-ins need. */
export type OAuthNeeds = {
  readonly db: HostDatabase
  readonly key: PlatformKey
  readonly limits: Limits
  readonly log: Logger
  readonly outbound: Outbound
  /** `OAUTH_ALLOWED_HOSTS` */
  readonly allowedHosts: readonly string[]
  readonly secrets: Secrets
  readonly runEntry: EntryRunner
  readonly askAuthenticator: AuthenticatorQuestion
  readonly sites: Sites
  readonly sessions: Sessions
  readonly remembered: Remembered
  readonly users: Pick<Users, 'get'>
  readonly formTokens: FormTokens
  readonly solutionLog: SolutionLog
  readonly audit: Audit
  readonly maintenance: Maintenance
  readonly secondStep: SecondStepGate
  /** Reads a solution's OAuth settings from the control center. */
  readonly ofCloud?: OAuthSettingsStore['get']
}

export type OAuth = ReturnType<typeof createOAuth>

/** Creates all OAuth parts, in the order of their dependencies. */
export function createOAuth(needs: OAuthNeeds) {
  const { db, key, limits, log, sessions, remembered, runEntry, askAuthenticator } = needs
  const writeLine = createAnonymousLines(needs.solutionLog)
  const requests = createProviderRequests(needs.outbound, needs.allowedHosts, limits)
  const settings = createOAuthSettings(db, Date.now, needs.ofCloud)
  const chooser = createConfigurationChooser({
    settings: { get: settings.inForce },
    runEntry,
    refusalOf: requests.refusalOf,
    writeLine,
  })
  const finder = createProviderFinder(requests)
  const keys = createProviderKeys(requests)
  const clientSecrets = createClientSecrets(needs.secrets)
  const tokenRequests = createTokenRequestsOnDemand(requests)
  const claims = createClaimsReader(keys, tokenRequests, limits)
  const transactions = createTransactions(db, key, limits)
  const logins = createProviderLogins(db, key, limits)
  const afterLogout = createAfterLogoutState(key)
  const refresh = createRefresh({ logins, clientSecrets, tokenRequests, claims, limits })
  const providerSource = createProviderSource(refresh, logins, askAuthenticator, needs.solutionLog, chooser)
  const providerLogout = createProviderLogout({
    logins,
    sessions,
    remembered,
    clientSecrets,
    tokenRequests,
    afterLogout,
    log,
  })
  const parts: OAuthParts = {
    ...needs,
    chooser,
    finder,
    keys,
    clientSecrets,
    tokenRequests,
    claims,
    transactions,
    logins,
    providerSource,
    writeLine,
  }
  return {
    parts,
    settings,
    requests,
    testSettings: createSettingsTest({ requests, clientSecrets, limits }),
    afterLogout,
    providerSource,
    providerLogout,
    sweep: async () => void (await Promise.all([transactions.sweep(), logins.sweep()])),
  }
}
