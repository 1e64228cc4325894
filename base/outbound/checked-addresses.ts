import { lookup as lookUpName } from 'node:dns/promises'
import { isIP, type LookupFunction } from 'node:net'
import { networkInterfaces } from 'node:os'
import { PlatformError } from '../../runtime/errors.ts'
import { readHostPort } from '../../runtime/host-port.ts'
import { canonicalAddress, isPublicAddress } from './public-address.ts'

export type Address = { readonly address: string; readonly family: number }

/**
 * The target of a connection: `host` is a name or an address without brackets; `place` is `host:port` as written in
 * settings.
 */
export type Place = { readonly host: string; readonly place: string }

export type AddressRules = {
  /** Places, in the form `host:port`, that are allowed to be in a private network, on loopback or on this machine. */
  readonly allowedPrivate: readonly string[]
  /** The name of the property that lists these places, for the error message. */
  readonly setting: string
  /** Returns all addresses for a name. By default, the system's resolver is used. */
  readonly lookUp?: (host: string) => Promise<readonly Address[]>
  /** This machine's addresses. They are treated as private, since the platform itself listens on some of them. */
  readonly ownAddresses?: () => readonly string[]
}

/**
 * Resolves a place once and returns the addresses that may be used. Connect only to these. This prevents DNS rebinding,
 * in which the name resolves to another machine a moment later.
 * @throws ERR_OUTBOUND_PRIVATE if one of the addresses is not on the public internet and the place is not listed
 * @throws ERR_OUTBOUND_FAILED if the name has no address
 */
export type CheckedAddresses = (place: Place) => Promise<readonly Address[]>

/** Maximum number of addresses to try per name, in order. */
const MOST_ADDRESSES = 8

export function createCheckedAddresses(rules: AddressRules): CheckedAddresses {
  const { setting, lookUp = lookUpAll, ownAddresses = addressesOfMachine } = rules
  const listed = new Set(rules.allowedPrivate.map(listedPlace))

  // Checks every address, not only the one that will be used, because one private address means that the name is not
  // public.
  return async ({ host, place }) => {
    const addresses = isIP(host) === 0 ? await lookUp(host) : [{ address: host, family: isIP(host) }]
    if (addresses.length === 0) {
      throw new PlatformError('ERR_OUTBOUND_FAILED', `the host name ${host} has no IP address`)
    }
    if (!listed.has(place)) {
      const own = new Set(ownAddresses().map(canonicalAddress))
      const isForeign = ({ address }: Address) => isPublicAddress(address) && !own.has(canonicalAddress(address))
      if (!addresses.every(isForeign)) {
        const message = `${place} is in a private network or on this machine: to allow it, the operator can add it to ${setting}`
        throw new PlatformError('ERR_OUTBOUND_PRIVATE', message, { place })
      }
    }
    return addresses.slice(0, MOST_ADDRESSES)
  }
}

/** Creates a `lookup` function for sockets. It returns the checked addresses, whatever the name. */
export function only(addresses: readonly Address[]): LookupFunction {
  return (_host, { all }, done) => {
    const first = addresses[0] as Address
    if (all) done(null, [...addresses])
    else done(null, first.address, first.family)
  }
}

async function lookUpAll(host: string): Promise<readonly Address[]> {
  return lookUpName(host, { all: true })
}

function addressesOfMachine(): readonly string[] {
  return Object.values(networkInterfaces()).flatMap((addresses) => (addresses ?? []).map(({ address }) => address))
}

/** @throws TypeError for entries that the settings' validation would have rejected */
function listedPlace(entry: string): string {
  const read = readHostPort(entry)
  if (read === null || read.port === null) throw new TypeError(`"${entry}" is not host:port`)
  return `${read.host}:${read.port}`
}
