import type { FormUpdate } from '../../plugins/forms/host.ts'
import type { QueuedRun } from '../../plugins/jobs/host.ts'
import type { Login, Press, Question, SignedInUser, Tenant } from '../../plugins/security/host.ts'
import type { Call } from '../../runtime/plugin.ts'
import type { AccountSourceName } from '../accounts/account-source-name.ts'
import type { SignInMethod } from '../accounts/sign-in-methods.ts'

/**
 * A link to a solution's page, with the parameter `argument`. If `solution` is null, the link opens the calling
 * solution's page.
 */
export type SolutionPage = { readonly solution: string | null; readonly argument: string | null }

/** The effects of a call's commands. They are applied only if the call succeeds. */
export type Effects = {
  login: Login | null
  tenant: Tenant | null
  locale: string | null
  showUrl: string | null
  /** The window in which a client's page opens the URL; null or absent for the current window. */
  showUrlTarget?: string | null
  form: string | null
  /** The form to show once the user agrees to discard the current form's unsaved input. */
  leaving?: string
  /** The page that `application.closeSolution` opens. If absent, the client stays open. */
  close?: SolutionPage
  /** Updates for the forms that the client shows, in order. */
  formUpdates?: readonly FormUpdate[]
  /** The built-in events that have listeners in the client; absent if they are unchanged. */
  listening?: readonly string[]
  /** Timers set with `application.executeLater`, by ids that the binding assigns. */
  later?: readonly { readonly id: number; readonly milliseconds: number }[]
  cancelLater?: readonly number[]
  /** Whether the script required a second step for this login. */
  needsSecondFactor?: boolean
  /** The uid of the user whose password `security.authenticate` or `checkPassword` found correct in this call. */
  authenticatedUid?: string
  /** The confirmation that the script requires before it handles the button press. */
  confirm?: Question
  /** Keys that scripts looked up and that no table contains. */
  missingKeys?: readonly string[]
  /** Runs of jobs to add, in order. */
  queued?: readonly QueuedRun[]
  logout: SolutionPage | null
  /**
   * Texts that scripts set. For a client's call, this is the complete set after the call: `HostCall.messages` with this
   * call's changes.
   */
  readonly messages: Map<string, string>
  /** Whether a client's call changed any of these texts. */
  messagesChanged?: true
}

/** A call with data that only the host uses; plugins see only its `Call` part. */
export type HostCall = Call & {
  readonly user: SignedInUser | null
  /** The tenant of a job's run, because a run has no user. Absent in other calls. */
  readonly tenant?: Tenant | null
  /** The source of the user's account, and the account's id there; null if no user is signed in. */
  readonly account: { readonly source: AccountSourceName; readonly uid: string } | null
  /** How the user signed in; absent if no user is signed in. */
  readonly methods?: readonly SignInMethod[]
  /** The button press that the call handles; null or absent in all other calls. */
  readonly press?: Press | null
  /** The browser's IP address. */
  readonly address: string
  readonly locale: string
  readonly serverUrl: string
  /** Texts that the client's scripts set in earlier calls; absent if no state is stored between calls. */
  readonly messages?: ReadonlyMap<string, string>
  /** The only form that may be shown while no user is signed in; null or absent if any form may be shown. */
  readonly onlyForm?: string | null
  readonly effects: Effects
}

export function createHostCall(call: Omit<HostCall, 'effects'>): HostCall {
  return { ...call, effects: { ...noEffects(), messages: new Map(call.messages) } }
}

export function noEffects(): Effects {
  return { login: null, tenant: null, locale: null, showUrl: null, form: null, logout: null, messages: new Map() }
}

/** This cast is safe, because every call that plugins get was created by `createHostCall`. */
export function hostCall(call: Call): HostCall {
  return call as HostCall
}

/** The tenant that the call's scripts can read. */
export function tenantOf({ user, tenant }: HostCall): Tenant | null {
  return user?.tenant ?? tenant ?? null
}
