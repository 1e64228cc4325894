import { isAllowedAddress } from '../../../runtime/address.ts'

/** Where a link may lead: http, https, mailto or a path of the same server; null for anything else. */
export function safeAddress(address: string | undefined): string | null {
  return address !== undefined && address !== '' && isAllowedAddress(address) ? address : null
}

/** Whether an address leaves the server, so that following it in the same window would end the client. */
export function leavesServer(address: string): boolean {
  return /^https?:/i.test(address)
}

/** The address of a file below `media/`; null where the path could lead elsewhere. */
export function mediaAddress(base: string, path: string): string | null {
  const segments = path.split('/')
  const isPlain = segments.every((segment) => /^[A-Za-z0-9._-]+$/.test(segment) && segment !== '.' && segment !== '..')
  return isPlain && path.length <= 1000 ? base + path : null
}
