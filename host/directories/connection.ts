import { connect as connectPlain, isIP, type Socket } from 'node:net'
import { connect as connectSecure, type TLSSocket } from 'node:tls'
import { Client, type Entry, type Filter, ResultCodeError, type SearchOptions } from 'ldapts'
import { inTime } from '../../base/program/in-time.ts'
import { PlatformError } from '../../runtime/errors.ts'
import { createGate } from '../../runtime/gate.ts'
import type { Directory } from './directories.ts'
import { createMessageReader } from './ldap-messages.ts'

/** A connection to a directory, signed in as the bind account. Its functions throw the same errors as `use`. */
export interface Connection {
  search(base: string, options: SearchOptions): Promise<readonly Entry[]>
  /**
   * Finds an entry by its distinguished name.
   * @param filter the entry must match this filter; null accepts any entry
   * @returns its distinguished name as the directory spells it; null if the entry doesn't exist or match
   */
  find(dn: string, filter: Filter | string | null): Promise<string | null>
  /**
   * Checks a password by signing in with it. If the directory accepts the password, the bind account signs in again
   * afterwards. Otherwise, the connection can't be used any more.
   */
  accepts(dn: string, password: string): Promise<boolean>
}

export interface Connections {
  /**
   * Opens a connection, calls `work` and closes the connection.
   * @param options if `isBatch` is true, the time limit applies to each request, not to all requests together
   * @throws ERR_DIRECTORY_UNREACHABLE, ERR_DIRECTORY_REFUSED
   */
  use<T>(
    directory: Directory,
    work: (connection: Connection) => Promise<T>,
    options?: { readonly isBatch: boolean },
  ): Promise<T>
  /**
   * Connects to one of the directory's servers, without a sign-in.
   * @returns how the connection is encrypted
   * @throws ERR_DIRECTORY_UNREACHABLE, ERR_DIRECTORY_REFUSED
   */
  probe(directory: Directory, url: string): Promise<string>
}

/** Timeout for a sign-in or a lookup in ms, from opening the connection to the last response. */
const TIME = 5000
/** Maximum number of concurrent connections to directories. Further requests wait. */
const MOST_AT_ONCE = 20
/** Maximum characters of a server's error message. */
const LONGEST_MESSAGE = 300

/** Result codes of a server that is temporarily unable to respond (RFC 4511, appendix A). */
const NOT_NOW: readonly number[] = [3, 51, 52]
const NO_SUCH_OBJECT = 32
/**
 * Result codes of a bind request if the account can't sign in with this password: constraintViolation (locked),
 * noSuchObject, invalidDNSyntax, inappropriateAuthentication, invalidCredentials, insufficientAccessRights and
 * unwillingToPerform.
 */
const REFUSALS: readonly number[] = [19, NO_SUCH_OBJECT, 34, 48, 49, 50, 53]

/** @param time the time limit in ms */
export function createConnections(time: number = TIME): Connections {
  const gate = createGate(MOST_AT_ONCE)
  /**
   * The server that last responded, by directory. It is tried first. Otherwise, a server that is down would slow down
   * every sign-in.
   */
  const lastGood = new Map<string, string>()

  async function open(directory: Directory, until: () => number): Promise<OpenClient> {
    const good = lastGood.get(directory.name)
    const urls = directory.urls.toSorted((one, other) => Number(other === good) - Number(one === good))
    let problem: unknown
    for (const [at, url] of urls.entries()) {
      // Each server gets an equal share of the remaining time. So a server that doesn't respond leaves time for the
      // next one.
      const patience = performance.now() + (until() - performance.now()) / (urls.length - at)
      try {
        const opened = await openClient(directory, url, patience)
        lastGood.set(directory.name, url)
        return opened
      } catch (error) {
        problem = error
      }
    }
    throw problem
  }

  async function inTurn<T>(directory: Directory, work: () => Promise<T>): Promise<T> {
    if (!(await gate.enter(time)))
      throw problemOf(directory, new Error('too many requests are already queued for this directory; try again later'))
    try {
      return await work()
    } catch (error) {
      throw error instanceof PlatformError ? error : problemOf(directory, error)
    } finally {
      gate.leave()
    }
  }

  return {
    use: (directory, work, { isBatch } = { isBatch: false }) =>
      inTurn(directory, async () => {
        const end = performance.now() + time
        const until = () => (isBatch ? performance.now() + time : end)
        const opened = await open(directory, until)
        try {
          await signIn(opened.client, directory, until)
          return await work(connectionOf(opened.client, directory, until))
        } finally {
          opened.close()
        }
      }),
    probe: (directory, url) =>
      inTurn(directory, async () => {
        const { isEncrypted, close } = await openClient(directory, url, performance.now() + time)
        close()
        if (!isEncrypted) return 'connected to a server on this machine, without encryption.'
        return `connected with ${url.startsWith('ldaps:') ? 'TLS' : 'StartTLS'}; the certificate is valid.`
      }),
  }
}

function connectionOf(client: Client, directory: Directory, until: () => number): Connection {
  async function search(base: string, options: SearchOptions): Promise<readonly Entry[]> {
    const asked = { derefAliases: 'never', timeLimit: Math.ceil(TIME / 1000), ...options } as const
    try {
      // Don't follow referrals to other servers.
      return (await within(client.search(base, asked), until())).searchEntries
    } catch (error) {
      throw problemOf(directory, error)
    }
  }

  return {
    search,
    async find(dn, filter) {
      const asked: SearchOptions = { scope: 'base', derefAliases: 'never', attributes: ['1.1'] }
      if (filter !== null) asked.filter = filter
      try {
        const { searchEntries } = await within(client.search(dn, asked), until())
        return searchEntries[0]?.dn ?? null
      } catch (error) {
        if (error instanceof ResultCodeError && error.code === NO_SUCH_OBJECT) return null
        throw problemOf(directory, error)
      }
    },
    async accepts(dn, password) {
      // RFC 4513, section 5.1.2: a bind without a password can succeed, but proves nothing.
      if (dn === '' || password === '') return false
      try {
        await within(client.bind(dn, password), until())
      } catch (error) {
        if (error instanceof ResultCodeError && REFUSALS.includes(error.code)) return false
        throw problemOf(directory, error)
      }
      await signIn(client, directory, until)
      return true
    },
  }
}

/** Signs in with the bind account, or anonymously if there is none. */
async function signIn(client: Client, directory: Directory, until: () => number): Promise<void> {
  const { bindDn, bindPassword } = directory
  try {
    await within(client.bind(bindDn ?? '', bindPassword ?? ''), until())
  } catch (error) {
    throw problemOf(directory, error)
  }
}

type OpenClient = { readonly client: Client; readonly isEncrypted: boolean; readonly close: () => void }

/** Opens a connection to one server. @param until when to give up, on the clock of `performance.now()` */
async function openClient(directory: Directory, url: string, until: number): Promise<OpenClient> {
  const { startTls, ca } = directory
  const { protocol, hostname, port } = new URL(url)
  const isTls = protocol === 'ldaps:'
  const host = hostname.replace(/^\[|\]$/g, '')
  const trust = { ...(ca === null ? {} : { ca }), rejectUnauthorized: true }
  const identity = { host, ...(isIP(host) === 0 ? { servername: host } : {}) }
  const target = { host, port: Number(port) || (isTls ? 636 : 389) }
  const sockets: Socket[] = []
  const close = () => {
    // Destroy the TLS socket before the socket below it. In the other order, Node.js crashes if TLS data is still in
    // transit.
    for (const socket of sockets.toReversed()) socket.on('error', () => {}).destroy()
  }
  try {
    const socket = isTls ? connectSecure({ ...target, ...identity, ...trust }) : connectPlain(target)
    sockets.push(socket)
    await opened(socket, isTls ? 'secureConnect' : 'connect', until)
    const plain = check(socket)
    const client = new Client({
      url,
      createConnection: oneConnection(() => socket),
      createSecureConnection: oneConnection(() => {
        if (isTls) return socket as TLSSocket
        // Data that follows the response may be from a man-in-the-middle, because it arrived before TLS verified the
        // server.
        if (!plain.isAfterOneMessage()) throw new Error('the server sent data before encryption started')
        const secure = connectSecure({ ...identity, ...trust, socket })
        sockets.push(secure)
        check(secure)
        return secure
      }),
    })
    if (!isTls && startTls) await within(client.startTLS(), until)
    return { client, isEncrypted: isTls || startTls, close }
  } catch (error) {
    close()
    throw problemOf(directory, error, url)
  }
}

/**
 * After a disconnect, the library reconnects, but without StartTLS and without signing in. The next password would then
 * be sent in plain text. Therefore, allow each client only one connection.
 */
function oneConnection<Opened extends Socket>(open: () => Opened): () => Opened {
  let isUsed = false
  return () => {
    if (isUsed) throw new Error('the connection was closed')
    isUsed = true
    return open()
  }
}

async function opened(socket: Socket, event: 'connect' | 'secureConnect', until: number): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  // Without an error listener, a late error would crash the host. This one stays until the library adds its own.
  socket
    .once(event, resolve)
    .once('error', reject)
    .on('error', () => {})
  await within(promise, until)
}

/** Passes only valid messages to the library, one at a time. */
function check(socket: Socket): Checked {
  const reader = createMessageReader()
  const emit = socket.emit.bind(socket)
  let count = 0
  socket.emit = (event: string | symbol, ...values: unknown[]) => {
    if (event !== 'data') return emit(event, ...values)
    try {
      for (const message of reader.read(values[0] as Buffer)) {
        count++
        emit('data', message)
      }
    } catch (error) {
      socket.destroy(error as Error)
    }
    return true
  }
  return { isAfterOneMessage: () => count === 1 && !reader.hasRest() }
}

/** `isAfterOneMessage` returns whether exactly one message was received. */
type Checked = { readonly isAfterOneMessage: () => boolean }

/**
 * Waits for `work`.
 * @throws Error at the time `until`, on the clock of `performance.now()`
 */
function within<T>(work: Promise<T>, until: number): Promise<T> {
  const left = Math.max(until - performance.now(), 0)
  return inTime(left, work, () => new Error('the server did not respond in time'))
}

/** @param url the server that failed; by default, all servers */
function problemOf({ name, urls }: Directory, error: unknown, url: string = urls.join(', ')): PlatformError {
  if (error instanceof PlatformError) return error
  const message = oneLine(error instanceof ResultCodeError ? resultOf(error) : messageOf(error))
  const isRefusal = error instanceof ResultCodeError && !NOT_NOW.includes(error.code)
  return isRefusal
    ? new PlatformError(
        'ERR_DIRECTORY_REFUSED',
        `The directory "${name}" (${url}) rejected the host’s request: ${message}`,
      )
    : new PlatformError('ERR_DIRECTORY_UNREACHABLE', `The directory "${name}" (${url}) is unreachable: ${message}`)
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/**
 * The name and number of a result code (RFC 4511, 4.1.9), and the server's own text, which can be empty. The library
 * appends only the hexadecimal number to that text.
 */
function resultOf({ name, code, message }: ResultCodeError): string {
  const words = name
    .replace(/Error$/, '')
    .replace(/(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/g, ' ')
    .toLowerCase()
  const own = message.replace(/^undefined(?= Code)| ?Code: 0x[0-9a-f]+$/g, '').trim()
  return `${words} (LDAP result code ${code})${own === '' ? '' : `: ${own}`}`
}

function oneLine(text: string): string {
  return text.replace(/[^\p{L}\p{N}\p{P}\p{S} ]+/gu, ' ').slice(0, LONGEST_MESSAGE)
}
