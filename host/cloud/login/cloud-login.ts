import { createHash } from 'node:crypto'
import type { Logger } from 'pino'
import type { ActiveSolution } from '../../../base/bundles/active-solution.ts'
import type { DesignedPage } from '../../../base/bundles/login-page.ts'
import type { Limits } from '../../../runtime/limits.ts'
import type { Supervisor } from '../../../runtime/supervisor.ts'
import type { CloudSettings } from '../../config/cloud-settings.ts'
import type { HostDatabase } from '../../database/tables.ts'
import type { FormSource } from '../../login/account-sources.ts'
import type { SolutionLog } from '../../solutions/solution-log.ts'
import { createCloudSource } from './account-source.ts'
import { createPageCompiler } from './compile-page.ts'
import { createCloudLoginPages } from './login-pages.ts'
import { createCloudLoginRequests } from './login-requests.ts'
import { createPageRows } from './page-rows.ts'
import { type CloudLoginProblems, createCloudLoginProblems } from './problems.ts'

/** Signs users in to solutions with the authenticator PLATFORM_CLOUD. */
export interface CloudLogin {
  readonly source: FormSource
  /**
   * The login page from the control center. Null for other authenticators, or if there is no usable page. Never throws.
   */
  pageOf(solution: Pick<ActiveSolution, 'name' | 'manifest'>): Promise<DesignedPage | null>
  /** The problems that the health page shows. */
  readonly problems: CloudLoginProblems['states']
  stop(): Promise<void>
}

export type CloudLoginParts = {
  readonly cloud: CloudSettings
  readonly db: HostDatabase
  readonly supervisor: Pick<Supervisor, 'checkUpload'>
  readonly limits: Limits
  readonly log: Logger
  readonly solutionLog: SolutionLog
  /** Returns the current time, in epoch ms. */
  readonly now: () => number
}

export function createCloudLogin({
  cloud,
  db,
  supervisor,
  limits,
  log,
  solutionLog,
  now,
}: CloudLoginParts): CloudLogin {
  const stop = new AbortController()
  const stopped = stop.signal
  const requests = createCloudLoginRequests({ cloud, stopped, now })
  const problems = createCloudLoginProblems(log, solutionLog, now)
  const pages = createCloudLoginPages({
    requests,
    compile: createPageCompiler(supervisor, limits),
    rows: createPageRows(db),
    problems,
    solutionLog,
    source: createHash('sha256').update(`${cloud.url.origin}\n${cloud.token}`).digest('base64url'),
    stopped,
    now,
  })
  return {
    source: createCloudSource({ requests, problems, stopped, now }),
    pageOf: async ({ name, manifest }) => (manifest.authenticator === 'PLATFORM_CLOUD' ? pages.of(name) : null),
    problems: problems.states,
    async stop() {
      stop.abort()
      await pages.settled()
    },
  }
}
