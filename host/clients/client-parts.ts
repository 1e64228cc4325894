import type { Sessions } from '../../base/accounts/sessions.ts'
import type { Throttle } from '../../base/accounts/throttle.ts'
import type { ActiveSolution } from '../../base/bundles/active-solution.ts'
import type { Sites } from '../../base/http/sites.ts'
import type { Limits } from '../../runtime/limits.ts'
import type { Supervisor } from '../../runtime/supervisor.ts'
import type { Audit } from '../access/audit.ts'
import type { ClientSignIns } from '../login/sign-in-token.ts'
import type { SignOutTargets } from '../login/sign-out-target.ts'
import type { CallEnd } from '../solutions/call-end.ts'
import type { Catalog } from '../solutions/catalog.ts'
import type { GuestBindings } from '../solutions/guest-bindings.ts'
import type { SolutionLog } from '../solutions/solution-log.ts'
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
  readonly signOutTargets: SignOutTargets
  readonly log: Pick<SolutionLog, 'write'>
  readonly audit: Audit
  /** Absent: open clients finish on their version. */
  readonly live?: Live | undefined
  /** Told of each call of a script that ended. */
  readonly called?: ((end: CallEnd) => void) | undefined
  /** Told of what is our own fault. @param of the solution, and the reference that its user was given */
  readonly onError: (error: unknown, of: { readonly solution?: string; readonly correlationId?: string }) => void
}

/** What clients of a live host need besides: they go on in the solution's next version by themselves. */
export type Live = {
  /** The address of a version's own style sheet, another one for another content; null where it has none. */
  readonly styleHref: (solution: ActiveSolution) => Promise<string | null>
}

/** What each client gets of them. */
export type ClientParts = Omit<ClientsParts, 'bindings' | 'audit'> & {
  readonly callClient: ClientCaller
  readonly missingTexts: MissingTexts
  readonly lateSignOuts: LateSignOuts
}
