import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

/** The IPv6 range for the public internet. @see RFC 4291, and IANA's registry of IPv6 global unicast */
const GLOBAL_UNICAST = ipaddr.IPv6.parse('2000::')
/**
 * The NAT64 prefix. An address with this prefix is public if the IPv4 address in its last 32 bits is.
 * @see RFC 6052, 2.1
 */
const NAT64 = ipaddr.IPv6.parse('64:ff9b::')
/** A public address that the hypervisor handles: Azure's WireServer, which exposes data of its virtual machines. */
const OF_THE_MACHINE = ['168.63.129.16']

/**
 * Whether `text` is an address on the public internet. False for loopback, private, link-local, shared (100.64/10),
 * multicast, reserved, documentation and benchmark ranges. Also false for IPv6 forms of IPv4 addresses (mapped,
 * compatible, translated, 6to4, Teredo), except NAT64 of a public one.
 */
export function isPublicAddress(text: string): boolean {
  if (isIP(text) === 0) return false
  const address = ipaddr.parse(text)
  if (address instanceof ipaddr.IPv4) return isPublicIPv4(address)
  if (address.match(NAT64, 96)) return isPublicIPv4(new ipaddr.IPv4(address.toByteArray().slice(12)))
  return address.zoneId === undefined && address.match(GLOBAL_UNICAST, 3) && address.range() === 'unicast'
}

/** Returns the same text for all notations of an address; null if `text` is not an address. */
export function canonicalAddress(text: string): string | null {
  return isIP(text) === 0 ? null : ipaddr.process(text).toNormalizedString()
}

function isPublicIPv4(address: ipaddr.IPv4): boolean {
  return address.range() === 'unicast' && !OF_THE_MACHINE.includes(address.toString())
}
