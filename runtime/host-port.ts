/**
 * A host in the form that a URL parser returns: lower case, Punycode, IPv4 as four decimal parts, IPv6 in brackets. The
 * trailing dot of a fully qualified name is removed. `port` is null if absent.
 */
export type HostPort = { readonly host: string; readonly port: number | null }

/** Reads `api.example.org`, `api.example.org:8443` or `[2001:db8::1]:443`. @returns null for anything else */
export function readHostPort(text: string): HostPort | null {
  const match = /^(\[[0-9A-Fa-f:.]{2,45}\]|[^[\]:/?#@%\\\s]{1,253})(?::([1-9]\d{0,4}))?$/u.exec(text)
  const url = match === null ? null : URL.parse(`http://${match[1]}/`)
  const port = match?.[2] === undefined ? null : Number(match[2])
  if (url === null || (port !== null && port > 65_535)) return null
  const host = hostOf(url)
  return host.startsWith('[') || isHostName(host) ? { host, port } : null
}

/** Returns the host and port of an http or https URL. The default is the scheme's port. */
export function hostPortOf(url: URL): { readonly host: string; readonly port: number } {
  return { host: hostOf(url), port: url.port === '' ? schemePort(url) : Number(url.port) }
}

/** Whether one of the entries, `host` or `host:port`, matches the host and port of `url`. */
export function namesPlaceOf(url: URL, entries: readonly string[]): boolean {
  const place = hostPortOf(url)
  return entries.some((entry) => {
    const named = readHostPort(entry)
    return named !== null && named.host === place.host && (named.port ?? schemePort(url)) === place.port
  })
}

/** Labels of letters, digits, "-" and "_", in the form that a URL parser returns; also matches IPv4 addresses. */
export function isHostName(host: string): boolean {
  return host.length <= 253 && /^[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*$/.test(host)
}

function hostOf(url: URL): string {
  return url.hostname.replace(/\.$/, '')
}

function schemePort(url: URL): number {
  return url.protocol === 'https:' ? 443 : 80
}
