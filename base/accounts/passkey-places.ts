import { isIP } from 'node:net'
import { isLoopback } from '../config/host-names.ts'
import type { PasskeyPlace } from './passkeys.ts'

/** Decides where passkeys are offered. */
export interface PasskeyPlaces {
  /** Whether users open all pages at the same origin. Otherwise, each solution's origin has its own passkeys. */
  readonly isShared: boolean
  /**
   * @param origin of the page
   * @returns null if passkeys are not offered there
   */
  at(origin: string): PasskeyPlace | null
  /** Whether passkeys are switched on, but browsers don't allow them at this address. */
  isBlockedByAddress(origin: string): boolean
  /**
   * @param hasOwnTemplate whether the solution's author wrote the page. Scripts of such a page could misuse other
   * solutions' passkeys. If solutions share an origin, the page therefore offers no passkeys.
   */
  onLoginPage(origin: string, hasOwnTemplate: boolean): PasskeyPlace | null
}

/** For services that own all pages at their origin. Passkeys are offered on every page where browsers allow them. */
export function ownPasskeyPlaces(isOn: boolean): PasskeyPlaces {
  function at(origin: string): PasskeyPlace | null {
    if (!isOn || !takesPasskeys(origin)) return null
    const { hostname, origin: exact } = new URL(origin)
    return { rpId: hostname, origin: exact }
  }
  return { isShared: true, at, isBlockedByAddress: (origin) => isOn && !takesPasskeys(origin), onLoginPage: at }
}

/** Whether browsers allow passkeys at an origin. They require a host name and https; on loopback, http is enough. */
export function takesPasskeys(origin: string): boolean {
  const address = URL.parse(origin)
  if (address === null) return false
  const { hostname, protocol } = address
  if (isIP(hostname.replace(/^\[|\]$/g, '')) !== 0) return false
  return protocol === 'https:' || isLoopback(hostname)
}
