import type { Sessions } from '../../base/accounts/sessions.ts'
import type { Throttle } from '../../base/accounts/throttle.ts'
import type { ActiveSolution } from '../../base/bundles/active-solution.ts'
import type { Sites } from '../../base/http/sites.ts'
import type { Limits } from '../../runtime/limits.ts'
import type { Supervisor } from '../../runtime/supervisor.ts'
import type { Audit } from '../access/audit.ts'
import type { ClientSignIns } from '../login/sign-in-token.ts'
import type { SignOutTargets } from '../login/sign-out-target.ts'
import type { Presses } from '../second-step/presses.ts'
import type { CallEnd } from '../solutions/call-end.ts'
import type { Catalog } from '../solutions/catalog.ts'
import type { GuestBindings } from '../solutions/guest-bindings.ts'
import type { SolutionLog } from '../solutions/solution-log.ts'
import type { StoreQueuedRuns } from '../solutions/store-queued-runs.ts'
import type { DevReport } from '../web/frames.ts'
import type { ClientCaller } from './client-calls.ts'
import type { LateSignOuts } from './late-sign-outs.ts'
import type { MissingTexts } from './missing-texts.ts'

export type ClientsParts = {
  readonly limits: Limits
  readonly isTesting: boolean
  readonly supervisor: Supervisor
  readonly bindings: GuestBindings
  readonly catalog: Catalog
  readonly sites: Sites
  readonly sessions: Sessions
  readonly throttle: Throttle
  readonly clientSignIns: ClientSignIns
  readonly presses: Presses
  readonly signOutTargets: SignOutTargets
  readonly log: Pick<SolutionLog, 'write'>
  readonly audit: Audit
  /** Only on a live host. Without it, open clients keep their version. */
  readonly live?: Live | undefined
  readonly storeRuns?: StoreQueuedRuns | undefined
  /** Called after each script call. */
  readonly called?: ((end: CallEnd) => void) | undefined
  /**
   * Reports internal errors.
   * @param of the solution's name, and the reference shown to its user
   */
  readonly onError: (error: unknown, of: { readonly solution?: string; readonly correlationId?: string }) => void
}

/** Additional parts on a live host, where clients switch to the solution's next version automatically. */
export type Live = {
  /** The URL of a version's style sheet, which changes when the content changes; null if the version has none. */
  readonly styleHref: (solution: ActiveSolution) => Promise<string | null>
  /** The reports that solutions' pages show above the form, keyed by the solution's name. */
  readonly reports: Map<string, DevReport>
}

/** The parts that all clients on a host share. */
export type ClientParts = Omit<ClientsParts, 'bindings' | 'audit'> & {
  readonly callClient: ClientCaller
  readonly missingTexts: MissingTexts
  readonly lateSignOuts: LateSignOuts
}
