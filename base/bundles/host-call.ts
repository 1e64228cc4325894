import type { FormUpdate } from '../../plugins/forms/host.ts'
import type { Login, SignedInUser, Tenant } from '../../plugins/security/host.ts'
import type { Call } from '../../runtime/plugin.ts'
import type { AccountSourceName } from '../accounts/account-source-name.ts'

/** A solution's page, with the parameter `argument`; `solution` null: the solution that asks. */
export type SolutionPage = { readonly solution: string | null; readonly argument: string | null }

/** What the commands of a call came to. Nothing of it counts before the call returned well. */
export type Effects = {
  login: Login | null
  tenant: Tenant | null
  locale: string | null
  showUrl: string | null
  /** The window in which a client's page opens it; null and absent: in its own place. */
  showUrlTarget?: string | null
  form: string | null
  /** Of `application.closeSolution`; absent: the client stays open. */
  close?: SolutionPage
  /** What clients show of their forms from now on, in the order it came. */
  formUpdates?: readonly FormUpdate[]
  /** Built-in events that listeners of the client are there for; absent: the same as before. */
  listening?: readonly string[]
  /** What `application.executeLater` wants, by numbers of the binding's own. */
  later?: readonly { readonly id: number; readonly milliseconds: number }[]
  cancelLater?: readonly number[]
  /** Keys that scripts looked up and no table has. */
  missingKeys?: readonly string[]
  logout: SolutionPage | null
  /** Texts that scripts set. Of a client's call all that hold after it: `HostCall.messages` with what the call changed. */
  readonly messages: Map<string, string>
  /** Whether the call of a client changed any of them. */
  messagesChanged?: true
}

/** A call as the host makes it; plugins see the part of it that `Call` names. */
export type HostCall = Call & {
  readonly user: SignedInUser | null
  /** Who knows the user's account, and by which id; null when nobody is signed in. */
  readonly account: { readonly source: AccountSourceName; readonly uid: string } | null
  /** The network address of the browser. */
  readonly address: string
  readonly locale: string
  readonly serverUrl: string
  /** Texts that scripts of the client set in earlier calls; absent where nothing is kept from call to call. */
  readonly messages?: ReadonlyMap<string, string>
  /** The one form that can be shown, while nobody is signed in; null and absent: any. */
  readonly onlyForm?: string | null
  readonly effects: Effects
}

export function createHostCall(call: Omit<HostCall, 'effects'>): HostCall {
  return { ...call, effects: { ...noEffects(), messages: new Map(call.messages) } }
}

export function noEffects(): Effects {
  return { login: null, tenant: null, locale: null, showUrl: null, form: null, logout: null, messages: new Map() }
}

/** Every call that a plugin is given was made by `createHostCall`. */
export function hostCall(call: Call): HostCall {
  return call as HostCall
}
