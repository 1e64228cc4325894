/**
 * Whether a script may send a browser to an address: http, https, mailto, or a path of the same server. Decided by the
 * parser that browsers use, not by the text.
 */
export function isAllowedAddress(address: string): boolean {
  // A URL parser drops or turns these; an address that needs them is not what it looks like.
  if (address.length > 2048 || /[\p{Cc}\s\\]/u.test(address) || !address.isWellFormed()) return false
  const base = 'http://same-server.invalid'
  const url = URL.parse(address, base)
  if (url === null || url.username !== '' || url.password !== '') return false
  if (address.startsWith('/')) return url.origin === base
  return url.protocol === 'mailto:' || (/^https?:\/\//i.test(address) && /^https?:$/.test(url.protocol))
}
