import type { FormUpdate } from '../../plugins/forms/host.ts'
import type { QueuedRun } from '../../plugins/jobs/host.ts'
import type { Login, Press, Question, SignedInUser, Tenant } from '../../plugins/security/host.ts'
import type { Call } from '../../runtime/plugin.ts'
import type { AccountSourceName } from '../accounts/account-source-name.ts'
import type { SignInMethod } from '../accounts/sign-in-methods.ts'
import type { User } from '../accounts/users.ts'

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
  /** The browser window in which to open the URL; null or absent for the current window. */
  showUrlTarget?: string | null
  form: string | null
  /** The form to show after the user agrees to discard the unsaved input in the current form. */
  leaving?: string
  /** The page that `application.closeSolution` opens. If absent, the client stays open. */
  close?: SolutionPage
  /** Updates for the forms that the client shows, in order. */
  formUpdates?: readonly FormUpdate[]
  /** The built-in events for which the client has listeners; absent if there was no change. */
  listening?: readonly string[]
  /** Timers that scripts set with `application.executeLater`. The binding assigns the ids. */
  later?: readonly { readonly id: number; readonly milliseconds: number }[]
  cancelLater?: readonly number[]
  /** Whether the script required a second step for this login. */
  needsSecondFactor?: boolean
  /**
   * The user whose password `security.authenticate` or `checkPassword` has verified in this call, as it was before the
   * check.
   */
  authenticated?: Pick<User, 'uid' | 'passwordChangedAt'>
  /** The confirmation that the script requires before it handles the button press. */
  confirm?: Question
  /** Keys that scripts looked up, but that no message table contains. */
  missingKeys?: readonly string[]
  /** Job runs to add, in order. */
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

/** A call with data that only the host uses. Plugins see only the part that `Call` describes. */
export type HostCall = Call & {
  readonly user: SignedInUser | null
  /** For a job's run: the tenant, because a run has no user. Absent in other calls. */
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

/** This cast is safe, because `createHostCall` created every call that plugins receive. */
export function hostCall(call: Call): HostCall {
  return call as HostCall
}

/** The tenant that the call's scripts can read. */
export function tenantOf({ user, tenant }: HostCall): Tenant | null {
  return user?.tenant ?? tenant ?? null
}
