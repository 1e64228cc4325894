import { isIP } from 'node:net'
import type { PasskeyPlace } from '../../base/accounts/passkeys.ts'
import { isLoopback } from '../../base/config/host-names.ts'
import type { Sites } from '../../base/http/sites.ts'
import type { Settings } from '../config/settings.ts'

/** Where the host offers passkeys (shared contract "sign-in", section 4). */
export interface PasskeyPlaces {
  /** @param origin of the page @returns null if passkeys are not offered there */
  at(origin: string): PasskeyPlace | null
  /** Whether passkeys are switched on, but browsers don't allow them at this address. */
  isBlockedByAddress(origin: string): boolean
  /** Whether they are offered at the address where users open this solution. */
  isOfferedFor(solution: string): boolean
  /** The same for the login page, on which an author's page could use another solution's passkeys. */
  onLoginPage(origin: string, hasOwnTemplate: boolean): PasskeyPlace | null
}

type PlaceSettings = Pick<Settings, 'passkeys' | 'passkeyDomain' | 'host' | 'publicUrl'>

export function createPasskeyPlaces(
  { passkeys, passkeyDomain, host, publicUrl }: PlaceSettings,
  sites: Pick<Sites, 'shared' | 'originOf'>,
): PasskeyPlaces {
  function at(origin: string): PasskeyPlace | null {
    const { hostname, origin: exact } = new URL(origin)
    const isOffered = passkeys === 'on' || (passkeys === 'auto' && (!sites.shared || isLoopback(hostname)))
    if (!isOffered || !isUsable(origin)) return null
    const isBelow = passkeyDomain !== null && (hostname === passkeyDomain || hostname.endsWith(`.${passkeyDomain}`))
    return { rpId: isBelow ? passkeyDomain : hostname, origin: exact }
  }

  return {
    at,
    isBlockedByAddress: (origin) => passkeys !== 'off' && !isUsable(origin),
    isOfferedFor(solution) {
      // Without SOLUTION_ORIGIN and PUBLIC_URL, users open the host by the name that they typed.
      const typed = isLoopback(host) && publicUrl === null ? 'localhost' : 'host.invalid'
      return at(sites.originOf(solution, { address: '', protocol: 'https', host: typed })) !== null
    },
    onLoginPage: (origin, hasOwnTemplate) => (sites.shared && hasOwnTemplate ? null : at(origin)),
  }
}

/** Browsers require a host name, and https, except on loopback. */
function isUsable(origin: string): boolean {
  const { hostname, protocol } = new URL(origin)
  if (isIP(hostname.replace(/^\[|\]$/g, '')) !== 0) return false
  return protocol === 'https:' || isLoopback(hostname)
}
