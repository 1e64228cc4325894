import type { AddressInfo } from 'node:net'
import type { Logger } from 'pino'
import { createFactors } from '../base/accounts/factors.ts'
import { createFormTokens } from '../base/accounts/form-token.ts'
import { createKnownBrowsers } from '../base/accounts/known-browser.ts'
import { createNotices } from '../base/accounts/notices.ts'
import { createPasswordTickets } from '../base/accounts/password-tickets.ts'
import { createPasswords, type HashCost } from '../base/accounts/passwords.ts'
import { createSessions, type Sessions } from '../base/accounts/sessions.ts'
import { createThrottle } from '../base/accounts/throttle.ts'
import { createUsers } from '../base/accounts/users.ts'
import { holdHomeAlone } from '../base/backup/home-lock.ts'
import { checkHomeVersion, noteHomeVersion } from '../base/backup/home-version.ts'
import { openPlatformKey } from '../base/config/platform-key.ts'
import { boundConnections, mostConnections } from '../base/http/bound-connections.ts'
import { createDraining, type Draining } from '../base/http/draining.ts'
import { createSites } from '../base/http/sites.ts'
import { createHandOver } from '../base/mail/hand-over.ts'
import { createMail } from '../base/mail/mail.ts'
import { closeServer, listening, originOf, serverOf } from '../base/tls/listen.ts'
import { httpServer, type WebServer } from '../base/tls/server.ts'
import { watchCertificate } from '../base/tls/watch-certificate.ts'
import { keepSweeping } from '../base/work/keep-sweeping.ts'
import { createAccess } from './access/access.ts'
import { createApiTokens } from './access/api-tokens.ts'
import { createAudit } from './access/audit.ts'
import { createConfirmations } from './access/confirmations.ts'
import { endAccess } from './access/end-access.ts'
import { createPageSessions } from './access/page-sessions.ts'
import { createCredentials } from './accounts/credentials.ts'
import { createForgottenPasswords } from './accounts/forgotten-passwords.ts'
import { createPasswordLinks } from './accounts/password-links.ts'
import { openSetUp, type SetUp } from './accounts/set-up.ts'
import { type CenterParts, createCenterApp, createCenterRedirectApp } from './app.ts'
import { CONTROL_CENTER } from './backup/saved.ts'
import type { CenterSettings } from './config/settings.ts'
import { createDesiredStates } from './desired/desired.ts'
import { createWaiting } from './desired/waiting.ts'
import { createEnvironmentTokens } from './environments/environment-tokens.ts'
import { createEnvironments } from './environments/environments.ts'
import { createEnvironmentStates } from './environments/states.ts'
import { CENTER_MAIL } from './mail/tables.ts'
import { openCenterDatabase } from './migrations/open.ts'
import { createInvitations } from './organisations/invitations.ts'
import { createOrganisations } from './organisations/organisations.ts'
import { createBundleChecks } from './packages/bundle-checks.ts'
import { createPackages } from './packages/packages.ts'
import { createStorage } from './packages/storage.ts'
import { createPipelineParts } from './pipelines/parts.ts'
import { createRegistries } from './registries/registries.ts'
import { createRollouts } from './rollouts/rollouts.ts'
import { createRolloutRunner } from './rollouts/runner.ts'
import { createReports } from './satellites/reports.ts'
import { createSecondSteps } from './second-step/parts.ts'
import { openSigning } from './signing/signing.ts'
import { createCloudParts } from './solution-users/parts.ts'
import { openCenterTelemetry } from './telemetry/parts.ts'

export type CenterOptions = {
  readonly settings: CenterSettings
  readonly log: Logger
  readonly version: string
  /** Whether a person reads the output. If so, the set-up code is returned; otherwise, it is written to a file. */
  readonly terminal: boolean
  /** What new password hashes cost. For tests; the default is what OWASP recommends. */
  readonly passwordCost?: HashCost | undefined
}

export type ControlCenter = {
  /** The URL on this machine, without a path. */
  readonly url: string
  /** The URL for browsers and Satellites: `PUBLIC_URL` if set, otherwise `url`. */
  readonly publicUrl: string
  readonly setUp: SetUp['shown']
  /** The parts of the control center; exposed for tests. */
  readonly parts: CenterParts
  /**
   * Keeps serving for `DRAIN_TIME` while reporting not ready, then refuses new work and lets running requests finish.
   */
  readonly stop: () => Promise<void>
}

type StartedParts = CenterParts & { readonly draining: Draining; readonly sessions: Sessions }

/**
 * Starts everything except the servers, in dependency order.
 * @param started collects the functions that stop the parts
 * @param port returns the port of the pages, which is known once the server listens
 */
async function startParts(
  { settings, log, version, terminal, passwordCost }: CenterOptions,
  started: AsyncDisposableStack,
  port: () => number,
): Promise<StartedParts> {
  const { limits, home } = settings
  // A second control center would delete the files of this one's pipeline runs.
  const homeLock = holdHomeAlone(home, CONTROL_CENTER)
  started.defer(() => homeLock.release())
  const lastVersion = checkHomeVersion(home, version)
  const db = await openCenterDatabase(settings)
  started.defer(() => db.destroy())
  const key = await openPlatformKey(db, home, settings.platformKey)
  const setUp = await openSetUp(db, home, terminal)
  const change = noteHomeVersion(home, version, lastVersion)
  if (change !== null) log.info(change)

  const handOver = settings.mail && createHandOver(settings.mail)
  const mail = createMail({ db, service: CENTER_MAIL, key, handOver, log, hourly: settings.mail?.hourly })
  started.defer(mail.start())
  const audit = createAudit(db, limits.AUDIT_KEPT)
  const sessions = createSessions(db, limits)
  const passwords = createPasswords({ cost: passwordCost })
  const users = createUsers(db, passwords, limits, {
    endAccess: (uid) => endAccess(db, sessions, uid),
    eraseFromAudit: async () => {},
  })
  started.defer(() => users.flush())
  const isShared = settings.database.kind !== 'embedded'
  const throttle = createThrottle(db, limits, isShared)
  const organisations = createOrganisations(db)
  const cloud = createCloudParts({ db, key, passwords, limits, mail, organisations, log, isShared })
  started.defer(() => cloud.passwordRequests.settle())
  const invitations = createInvitations(db)
  const registries = createRegistries(db, key)
  const apiTokens = createApiTokens(db)
  const pageSessions = createPageSessions(sessions, users, key)
  const factors = createFactors(db, limits)
  const confirmations = createConfirmations(factors, limits)
  const access = createAccess({ users, pageSessions, apiTokens, organisations, audit, confirmations })
  const notices = createNotices(mail, log, settings.publicUrl?.host ?? null)
  started.defer(() => notices.settle())
  const formTokens = createFormTokens(key)
  const stepNeeds = { db, key, limits, passwords, formTokens, factors, users, organisations, notices, isShared }
  const secondSteps = createSecondSteps(stepNeeds)
  const environments = createEnvironments(db)
  const telemetry = await openCenterTelemetry(db, settings, log)
  started.defer(() => telemetry.stop())
  const environmentStates = createEnvironmentStates(db)
  const credentials = createCredentials(users, throttle, audit, createKnownBrowsers(key, limits))
  const passwordTickets = createPasswordTickets(users, key, 'center-change-password')
  const passwordLinks = createPasswordLinks(db, users)
  const forgottenPasswords = createForgottenPasswords({ users, passwordLinks, mail, audit, log })
  started.defer(() => forgottenPasswords.settle())
  const environmentTokens = createEnvironmentTokens(db)
  const signing = await openSigning(db, key)
  const bundleChecks = createBundleChecks(limits, settings.memory)
  started.defer(() => bundleChecks.stop())
  const storage = createStorage(db, settings.organisationStorage)
  const packages = createPackages(db, bundleChecks, storage)
  const { publicKey } = signing
  const pipelineNeeds = { db, settings, log, packages, storage, bundleChecks, registries, publicKey }
  const pipelineParts = await createPipelineParts(pipelineNeeds)
  started.defer(() => pipelineParts.runs.stop())

  const waiting = createWaiting(() => desiredStates.numbers())
  const desiredStates = createDesiredStates(db, signing, waiting.changed)
  const reports = createReports(db, () => rolloutRunner.wake())
  const rollouts = createRollouts(db)
  const rolloutRunner = createRolloutRunner({ rollouts, desiredStates, reports, audit, log })
  packages.heldBy(desiredStates.holder)
  packages.heldBy(rollouts.holder)
  rolloutRunner.start()
  started.defer(() => rolloutRunner.stop())

  return {
    settings,
    log,
    version,
    limits,
    sessions,
    sites: createSites({ ...settings, solutionOrigin: null }, port),
    draining: createDraining(settings.drainTime),
    access,
    apiTokens,
    audit,
    pageSessions,
    environments,
    telemetry,
    environmentTokens,
    environmentStates,
    credentials,
    passwordTickets,
    passwordLinks,
    forgottenPasswords,
    invitations,
    mail,
    ...cloud,
    ...secondSteps,
    confirmations,
    registries,
    bundleChecks,
    packages,
    signing,
    waiting,
    desiredStates,
    reports,
    rollouts,
    rolloutRunner,
    ...pipelineParts,
    organisations,
    setUp,
    throttle,
    users,
  }
}

/** Starts everything in dependency order. If a part fails to start, the parts that have already started are stopped. */
export async function startControlCenter(options: CenterOptions): Promise<ControlCenter> {
  await using started = new AsyncDisposableStack()
  const { settings, log } = options
  const names = settings.publicUrl === null ? [] : [settings.publicUrl.hostname]
  const certificate = settings.certificate && watchCertificate(settings.certificate, { log, names })
  if (certificate !== null) started.defer(() => certificate.stop())
  let port = settings.port
  const parts = await startParts(options, started, () => port)

  const servers: WebServer[] = []
  started.defer(async () => void (await Promise.all(servers.map(closeServer))))
  const { trustedProxies } = settings
  const pages = serverOf(createCenterApp(parts), certificate, settings)
  boundConnections(pages, { most: mostConnections('pages'), trustedProxies })
  servers.push(await listening(pages, settings.port, settings.host))
  port = (pages.address() as AddressInfo).port
  if (settings.httpRedirectPort !== null) {
    const redirect = httpServer(createCenterRedirectApp(parts, () => port))
    boundConnections(redirect, { most: mostConnections('other'), trustedProxies })
    servers.push(await listening(redirect, settings.httpRedirectPort, settings.host))
  }
  const { sessions, throttle, audit, telemetry, invitations, passwordLinks, userLinks, loginPages, reports } = parts
  const { openSignIns, passkeyRequests } = parts
  const ofAccounts = [sessions, throttle, audit, invitations, passwordLinks, openSignIns, passkeyRequests]
  const swept = [...ofAccounts, telemetry, userLinks, loginPages, reports]
  started.defer(keepSweeping(swept, log))
  // Close long polls and streams of logs and runs first, because closing the servers waits for all requests.
  started.defer(async () => {
    parts.waiting.stop()
    telemetry.followers.stop()
    await parts.runs.stop()
  })

  const url = originOf(certificate, settings.host, port)
  const everything = started.move()
  let stopped: Promise<void> | null = null

  async function drainAndEnd(): Promise<void> {
    log.info({ drainTime: settings.drainTime }, 'the control center is stopping')
    await parts.draining.drain(async () => {})
    await everything.disposeAsync()
  }

  return {
    url,
    publicUrl: settings.publicUrl?.origin ?? url,
    setUp: parts.setUp.shown,
    parts,
    stop() {
      if (stopped !== null) parts.draining.hurry()
      stopped ??= drainAndEnd()
      return stopped
    },
  }
}
