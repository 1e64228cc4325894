const ALLOWED_SCHEMES: ReadonlySet<string> = new Set(['http', 'https', 'mailto'])

/**
 * Removes the characters that a URL parser ignores: control characters and spaces at the start, tabs and newlines
 * anywhere.
 */
function stripAddress(address: string): string {
  return address.replace(/^[\0-\x20]+|[\t\n\r]+/g, '')
}

/** Returns a URL's scheme in lower case; null for a relative URL, including one that starts with `//`. */
export function addressScheme(address: string): string | null {
  return /^([a-z][a-z0-9+.-]*):/i.exec(stripAddress(address))?.[1]?.toLowerCase() ?? null
}

/** Whether a URL starts with `//`; browsers treat `\` as `/`. */
export function startsWithHost(address: string): boolean {
  return /^[/\\]{2}/.test(stripAddress(address))
}

export function isAllowedScheme(scheme: string | null): boolean {
  return scheme === null || ALLOWED_SCHEMES.has(scheme)
}

/**
 * Whether a URL that contains values may be shown: http, https, mailto or relative.
 *
 * Chosen here: a URL that starts with `//` points to another origin, which is easy to overlook. It is allowed only if
 * the author wrote both slashes.
 *
 * @param authored the literal text before the first value
 * @param ownOrigin whether the author must have written the whole origin, as in script elements' URLs
 */
export function isAllowedAddress(address: string, authored: string, ownOrigin: boolean): boolean {
  const scheme = addressScheme(address)
  if (!isAllowedScheme(scheme)) return false
  const elsewhere = scheme !== null || startsWithHost(address)
  if (ownOrigin && elsewhere) return /^(?:https?:)?\/\/[^/?#\\]+[/?#\\]/i.test(stripAddress(authored))
  return scheme !== null || !elsewhere || startsWithHost(authored)
}
