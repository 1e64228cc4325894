import { isAllowedAddress } from '../../../runtime/address.ts'

/**
 * Returns the URL if links may point to it, otherwise null. Allowed are http, https, mailto and paths on the same
 * server.
 */
export function safeAddress(address: string | undefined): string | null {
  return address !== undefined && address !== '' && isAllowedAddress(address) ? address : null
}

/** Whether a URL is on another server; opening it in the same window would end the client. */
export function leavesServer(address: string): boolean {
  return /^https?:/i.test(address)
}

/** The URL of a file below `media/`; null if the path could point outside it. */
export function mediaAddress(base: string, path: string): string | null {
  const segments = path.split('/')
  const isPlain = segments.every((segment) => /^[A-Za-z0-9._-]+$/.test(segment) && segment !== '.' && segment !== '..')
  return isPlain && path.length <= 1000 ? base + path : null
}
