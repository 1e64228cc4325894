import type { IncomingMessage } from 'node:http'
import type { TLSSocket } from 'node:tls'
import proxyAddr from 'proxy-addr'
import { plainAddress } from './network.ts'

/**
 * The client's address and the URL's protocol and host, as the browser sees them. Forwarding headers are used only if a
 * trusted proxy sent them.
 */
export type ClientSide = {
  /** The address in the form that `plainAddress` returns. */
  readonly address: string
  readonly protocol: 'http' | 'https'
  /** The Host header in lower case, as the browser sent it. */
  readonly host: string
}

/**
 * @param trusted the addresses or networks in `TRUSTED_PROXIES`
 * @returns a function that returns whether a request was sent directly by one of them
 */
export function createProxyCheck(trusted: readonly string[]): (request: IncomingMessage) => boolean {
  const isTrusted = proxyAddr.compile([...trusted])
  return (request) => trusted.length > 0 && isTrusted(request.socket.remoteAddress ?? '', 0)
}

/** @param trusted the addresses or networks in `TRUSTED_PROXIES` */
export function createClientReader(trusted: readonly string[]): (request: IncomingMessage) => ClientSide {
  const isTrusted = proxyAddr.compile([...trusted])
  const isFromProxy = createProxyCheck(trusted)
  return (request) => {
    const forwarded = isFromProxy(request)
    const protocol = forwarded ? first(request.headers['x-forwarded-proto']) : undefined
    const host = (forwarded ? first(request.headers['x-forwarded-host']) : undefined) ?? request.headers.host ?? ''
    return {
      address: addressOf(request, isTrusted),
      protocol: (protocol ?? ownProtocol(request)) === 'https' ? 'https' : 'http',
      host: host.toLowerCase(),
    }
  }
}

/**
 * Returns the last address that does not belong to a trusted proxy. If a proxy forwards something that is not an
 * address, such as `unknown`, returns the proxy's own address. Otherwise, each forged value would get a separate rate
 * limit.
 */
function addressOf({ socket, headers }: IncomingMessage, isTrusted: Trust): string {
  let address = plainAddress(socket.remoteAddress ?? '') ?? ''
  if (!isTrusted(address, 0)) return address
  const forwarded = String(headers['x-forwarded-for'] ?? '').split(',')
  for (const hop of forwarded.reverse()) {
    if (!isTrusted(address, 0)) return address
    const next = plainAddress(hop.trim())
    if (next === null) return address
    address = next
  }
  return address
}

type Trust = ReturnType<typeof proxyAddr.compile>

/** Returns the protocol of the connection to this process, which is from the browser or from a proxy. */
function ownProtocol({ socket }: IncomingMessage): 'http' | 'https' {
  return (socket as Partial<TLSSocket>).encrypted === true ? 'https' : 'http'
}

function first(header: string | string[] | undefined): string | undefined {
  const text = Array.isArray(header) ? header[0] : header
  return text?.split(',', 1)[0]?.trim() || undefined
}
