import { cachedByText } from '../program/by-text.ts'

/** Whether a string is a valid solution name, which is used in URLs and as a label in host names. */
export function isHostLabel(text: string): boolean {
  return /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(text)
}

/** Returns the host name from a Host header; null if the header is not exactly a host with an optional port. */
export const hostnameOf = cachedByText(100, (host): string | null => {
  const url = /^[a-z0-9.:[\]_-]+$/.test(host) ? URL.parse(`http://${host}`) : null
  return url !== null && (url.host === host || `${url.hostname}:80` === host) ? url.hostname : null
})

export function isLoopback(hostname: string): boolean {
  const isName = hostname === 'localhost' || hostname.endsWith('.localhost')
  return isName || hostname === '[::1]' || hostname === '::1' || /^127(\.\d{1,3}){3}$/.test(hostname)
}
