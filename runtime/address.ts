/**
 * Whether a script may send a browser to a URL: http, https, mailto, or a path on the same server. Uses the URL parser,
 * as browsers do, instead of matching the text.
 */
export function isAllowedAddress(address: string): boolean {
  // URL parsers strip or convert these characters, so the URL's real target would differ from the visible one.
  if (address.length > 2048 || /[\p{Cc}\s\\]/u.test(address) || !address.isWellFormed()) return false
  const base = 'http://same-server.invalid'
  const url = URL.parse(address, base)
  if (url === null || url.username !== '' || url.password !== '') return false
  if (address.startsWith('/')) return url.origin === base
  return url.protocol === 'mailto:' || (/^https?:\/\//i.test(address) && /^https?:$/.test(url.protocol))
}
