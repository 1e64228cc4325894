import type { Context } from 'koa'
import { PlatformError } from '../../runtime/errors.ts'

/**
 * Rejects requests with two Host headers, because a proxy could use one of them, and this server the other.
 * @throws ERR_BAD_REQUEST
 */
export function requireOneHost({ req }: Context): void {
  // The lengths are compared first, because converting every name to lower case would take longer.
  const { rawHeaders } = req
  let hosts = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] as string
    if (name.length === 'host'.length && name.toLowerCase() === 'host') hosts++
  }
  if (hosts > 1) throw new PlatformError('ERR_BAD_REQUEST', 'The request has more than one Host header. Send only one.')
}

export function unknownHost(host: string): PlatformError {
  return new PlatformError(
    'ERR_HOST_UNKNOWN',
    `This server does not serve the host name "${host.slice(0, 260)}". Check the URL.`,
  )
}
