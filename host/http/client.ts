import type { IncomingMessage } from 'node:http'
import type { TLSSocket } from 'node:tls'
import proxyAddr from 'proxy-addr'

/** What a request says of the browser's side, forwarding headers counted only from trusted proxies. */
export type ClientSide = {
  readonly address: string
  readonly protocol: 'http' | 'https'
  /** The Host header in lower case, as the browser sent it. */
  readonly host: string
}

/** @param trusted addresses or networks of `TRUSTED_PROXIES` @returns whether a request comes directly from one of them */
export function createProxyCheck(trusted: readonly string[]): (request: IncomingMessage) => boolean {
  const isTrusted = proxyAddr.compile([...trusted])
  return (request) => trusted.length > 0 && isTrusted(request.socket.remoteAddress ?? '', 0)
}

/** @param trusted addresses or networks of `TRUSTED_PROXIES` */
export function createClientReader(trusted: readonly string[]): (request: IncomingMessage) => ClientSide {
  const isTrusted = proxyAddr.compile([...trusted])
  const isFromProxy = createProxyCheck(trusted)
  return (request) => {
    const forwarded = isFromProxy(request)
    const protocol = forwarded ? first(request.headers['x-forwarded-proto']) : undefined
    const host = (forwarded ? first(request.headers['x-forwarded-host']) : undefined) ?? request.headers.host ?? ''
    return {
      address: forwarded ? proxyAddr(request, isTrusted) : (request.socket.remoteAddress ?? ''),
      protocol: (protocol ?? ownProtocol(request)) === 'https' ? 'https' : 'http',
      host: host.toLowerCase(),
    }
  }
}

/** Of the connection itself, which may end at the host or at a proxy. */
function ownProtocol({ socket }: IncomingMessage): 'http' | 'https' {
  return (socket as Partial<TLSSocket>).encrypted === true ? 'https' : 'http'
}

function first(header: string | string[] | undefined): string | undefined {
  const text = Array.isArray(header) ? header[0] : header
  return text?.split(',', 1)[0]?.trim() || undefined
}
