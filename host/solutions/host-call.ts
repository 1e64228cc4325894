import type { FormUpdate } from '../../plugins/forms/host.ts'
import type { Login, SignedInUser, Tenant } from '../../plugins/security/host.ts'
import type { Call } from '../../runtime/plugin.ts'
import type { AccountSourceName } from '../login/account-sources.ts'

/** What the commands of a call came to. Nothing of it counts before the call returned well. */
export type Effects = {
  login: Login | null
  tenant: Tenant | null
  locale: string | null
  showUrl: string | null
  form: string | null
  /** What clients show of their forms from now on, in the order it came. */
  formUpdates?: readonly FormUpdate[]
  logout: { readonly solution: string | null; readonly argument: string | null } | null
  readonly messages: Map<string, string>
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
  readonly effects: Effects
}

export function createHostCall(call: Omit<HostCall, 'effects'>): HostCall {
  return { ...call, effects: noEffects() }
}

export function noEffects(): Effects {
  return { login: null, tenant: null, locale: null, showUrl: null, form: null, logout: null, messages: new Map() }
}

/** Every call that a plugin is given was made by `createHostCall`. */
export function hostCall(call: Call): HostCall {
  return call as HostCall
}
