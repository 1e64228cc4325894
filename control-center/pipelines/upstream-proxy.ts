import { request as httpRequest, type IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import type { Socket } from 'node:net'
import ipaddr from 'ipaddr.js'
import { PlatformError } from '../../runtime/errors.ts'

/** The operator's own proxy, for networks without direct internet access. */
export interface UpstreamProxy {
  /** Whether connections to this host use the proxy: false for hosts in `NO_PROXY`. */
  handles(host: string, port: number): boolean
  /**
   * Connects to a host through the proxy.
   * @param place `host:port`
   * @param time timeout in ms
   * @throws ERR_OUTBOUND_FAILED
   */
  connect(place: string, time: number): Promise<Socket>
}

/** Reads `HTTPS_PROXY` and `NO_PROXY`, in upper or lower case, as builders do. @returns null if there is none */
export function readUpstreamProxy(environment: NodeJS.ProcessEnv): UpstreamProxy | null {
  const named = environment.HTTPS_PROXY || environment.https_proxy || ''
  const url = URL.parse(/^[a-z]+:\/\//i.test(named) ? named : `http://${named}`)
  if (named === '' || url === null || !/^https?:$/.test(url.protocol)) return null
  const left = (environment.NO_PROXY ?? environment.no_proxy ?? '').split(',').map((entry) => entry.trim())
  return {
    handles: (host, port) => !left.some((entry) => isNamed(entry.toLowerCase(), host, port)),
    connect: (place, time) => connectThrough(url, place, time),
  }
}

function connectThrough(url: URL, place: string, time: number): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>()
  const fail = (why: string) =>
    reject(
      new PlatformError(
        'ERR_OUTBOUND_FAILED',
        `"${place}" cannot be reached through the proxy in HTTPS_PROXY: ${why}. Check HTTPS_PROXY, and that the proxy allows this host.`,
      ),
    )
  const login = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`
  const asked = (url.protocol === 'https:' ? httpsRequest : httpRequest)({
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port),
    method: 'CONNECT',
    path: place,
    agent: false,
    headers: {
      host: place,
      ...(url.username === '' ? {} : { 'proxy-authorization': `Basic ${Buffer.from(login).toString('base64')}` }),
    },
  })
  const timer = setTimeout(() => asked.destroy(new Error('the proxy did not respond in time')), time)
  asked.on('close', () => clearTimeout(timer))
  asked.on('connect', (answer: IncomingMessage, socket: Socket, head: Buffer) => {
    clearTimeout(timer)
    if (answer.statusCode === 200) {
      if (head.length > 0) socket.unshift(head)
      return resolve(socket)
    }
    socket.destroy()
    fail(`the proxy responded with HTTP ${answer.statusCode}`)
  })
  asked.on('response', (answer) => {
    answer.destroy()
    fail(`the proxy responded with HTTP ${answer.statusCode}`)
  })
  asked.on('error', (error: NodeJS.ErrnoException) => fail(error.code ?? error.name))
  asked.end()
  return promise
}

/**
 * Whether a `NO_PROXY` entry matches a host. An entry can be `*`, a name (which includes its subdomains), `.name`, an
 * address or a network. Each can have a port.
 */
function isNamed(entry: string, host: string, port: number): boolean {
  if (entry === '' || entry === '*') return entry === '*'
  const [, name = '', ofPort] = /^(\[[^\]]+\]|[^:]+|[0-9a-f:]+:[0-9a-f:]*)(?::(\d+))?$/.exec(entry) ?? []
  if (ofPort !== undefined && Number(ofPort) !== port) return false
  const bare = host.replace(/^\[|\]$/g, '')
  if (ipaddr.isValid(bare)) return isInside(bare, name.replace(/^\[|\]$/g, ''))
  return name.startsWith('.') ? host.endsWith(name) : host === name || host.endsWith(`.${name}`)
}

function isInside(address: string, network: string): boolean {
  const read = ipaddr.process(address)
  if (!network.includes('/')) {
    return ipaddr.isValid(network) && ipaddr.process(network).toString() === read.toString()
  }
  if (!ipaddr.isValidCIDR(network)) return false
  const [of, bits] = ipaddr.parseCIDR(network)
  return of.kind() === read.kind() && read.match(of, bits)
}
