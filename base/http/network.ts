import { cachedByText } from '../program/by-text.ts'

/**
 * Returns an address in canonical form, so that addresses can be counted, shown and compared. The result has no port,
 * brackets or zone. IPv6 is written as in RFC 5952, and IPv4-mapped IPv6 as IPv4. Ports are removed because some
 * proxies, such as Azure's gateways, forward `address:port`.
 * Results are cached, because each request needs the address of its connection several times.
 * @returns null if the text is not an address
 */
export const plainAddress = cachedByText(1000, (text): string | null => {
  const [, inBrackets, beforePort] = /^\[([^\]]*)\](?::\d{1,5})?$|^([\d.]+):\d{1,5}$/.exec(text) ?? []
  const address = (inBrackets ?? beforePort ?? text).split('%', 1)[0] as string
  if (IPV4.test(address)) return address
  const ipv6 = /^[\da-f:.]+$/i.test(address) ? URL.parse(`http://[${address}]/`)?.hostname.slice(1, -1) : undefined
  if (ipv6 === undefined) return null
  const [, high, low] = /^::ffff:([\da-f]{1,4}):([\da-f]{1,4})$/.exec(ipv6) ?? []
  return high === undefined || low === undefined ? ipv6 : [...bytesOf(high), ...bytesOf(low)].join('.')
})

/** Four decimal numbers. Leading zeros are not allowed, because some parsers read them as octal. */
const IPV4 = /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}$/

function bytesOf(group: string): readonly number[] {
  const value = Number.parseInt(group, 16)
  return [value >> 8, value & 255]
}

/**
 * Returns an IPv4 address unchanged, but only the /64 prefix of an IPv6 address, since providers assign a /64 to each
 * customer.
 */
export function networkOf(address: string): string {
  const plain = plainAddress(address) ?? address
  if (!plain.includes(':')) return plain
  const [head = '', tail = ''] = plain.split('::')
  const before = head.split(':').filter((group) => group !== '')
  const after = tail.split(':').filter((group) => group !== '')
  const zeros = plain.includes('::') ? Array<string>(Math.max(0, 8 - before.length - after.length)).fill('0') : []
  return `${[...before, ...zeros, ...after].slice(0, 4).join(':')}::/64`
}
