import { type PasskeyPlaces as Places, takesPasskeys } from '../../base/accounts/passkey-places.ts'
import type { PasskeyPlace } from '../../base/accounts/passkeys.ts'
import { isLoopback } from '../../base/config/host-names.ts'
import type { Sites } from '../../base/http/sites.ts'
import type { Settings } from '../config/settings.ts'

export interface PasskeyPlaces extends Places {
  /** Whether passkeys are offered at the URL where users open this solution. */
  isOfferedFor(solution: string): boolean
}

type PlaceSettings = Pick<Settings, 'passkeys' | 'passkeyDomain' | 'host' | 'publicUrl'>

export function createPasskeyPlaces(
  { passkeys, passkeyDomain, host, publicUrl }: PlaceSettings,
  sites: Pick<Sites, 'shared' | 'originOf'>,
): PasskeyPlaces {
  /**
   * The result for the last origin. It is cached, because parsing URLs is slow and most requests have the same origin.
   */
  let last: { readonly origin: string; readonly place: PasskeyPlace | null } | null = null

  function at(origin: string): PasskeyPlace | null {
    if (last?.origin !== origin) last = { origin, place: placeOf(origin) }
    return last.place
  }

  function placeOf(origin: string): PasskeyPlace | null {
    const { hostname, origin: exact } = new URL(origin)
    const isOffered = passkeys === 'on' || (passkeys === 'auto' && (!sites.shared || isLoopback(hostname)))
    if (!isOffered || !takesPasskeys(origin)) return null
    const isBelow = passkeyDomain !== null && (hostname === passkeyDomain || hostname.endsWith(`.${passkeyDomain}`))
    return { rpId: isBelow ? passkeyDomain : hostname, origin: exact }
  }

  return {
    isShared: sites.shared,
    at,
    isBlockedByAddress: (origin) => passkeys !== 'off' && !takesPasskeys(origin),
    isOfferedFor(solution) {
      // Without SOLUTION_ORIGIN and PUBLIC_URL, users can open the host under any host name. The name is known only if
      // the host listens on loopback.
      const typed = isLoopback(host) && publicUrl === null ? 'localhost' : 'host.invalid'
      return at(sites.originOf(solution, { address: '', protocol: 'https', host: typed })) !== null
    },
    onLoginPage: (origin, hasOwnTemplate) => (sites.shared && hasOwnTemplate ? null : at(origin)),
  }
}
