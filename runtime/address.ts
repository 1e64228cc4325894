const BASE = 'http://same-server.invalid'

/**
 * Whether a URL starts with http:// or https:// and a host name, with at most 260 characters before the path. Check this
 * before you parse a URL from outside: for a long host name with letters other than a-z, parsing takes quadratic time.
 */
export function startsWithHost(address: string): boolean {
  return /^https?:\/\/[/\\]*[^/\\?#]{1,260}(?:[/\\?#]|$)/i.test(address)
}

/**
 * Whether a script may send a browser to a URL: http, https, mailto, or a path on the same server. Uses the URL parser,
 * as browsers do, instead of matching the text.
 */
export function isAllowedAddress(address: string): boolean {
  // URL parsers strip or convert these characters, so the URL's real target would differ from the visible one.
  if (address.length > 2048 || /[\p{Cc}\s\\]/u.test(address) || !address.isWellFormed()) return false
  const isPath = /^\/(?!\/)/.test(address)
  if (!isPath && !/^mailto:/i.test(address) && !startsWithHost(address)) return false
  const url = URL.parse(address, BASE)
  return url !== null && url.username === '' && url.password === '' && (!isPath || url.origin === BASE)
}
