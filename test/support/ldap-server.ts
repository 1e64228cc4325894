import { createServer, type Socket } from 'node:net'
import { TLSSocket } from 'node:tls'

/** An entry in the simulated directory. Attribute names are case-insensitive. */
export type PlayedEntry = {
  readonly dn: string
  /** The password for signing in as this entry. If it is absent, signing in fails. */
  readonly password?: string
  readonly attributes: Readonly<Record<string, readonly (string | Buffer)[]>>
}

/** How the server behaves. Tests can change these properties while it is running. */
export type Play = {
  entries: PlayedEntry[]
  /** The delay before each response, in ms. */
  delay: number
  /** If true, the server doesn't respond at all. */
  isSilent: boolean
  /** Referrals to other servers that every search result contains. */
  references: string[]
  /** Data to send unencrypted right after the response to StartTLS, as a man-in-the-middle could. */
  injected: Buffer
  /** If set, the response to each bind and search is a referral to this server. */
  referral: string | null
}

export type LdapServer = {
  readonly port: number
  readonly play: Play
  /**
   * The received requests, in order. A bind is listed without its password, but it is noted if the password was empty.
   */
  readonly asked: readonly string[]
  /** The number of open connections. */
  readonly connections: () => number
  /** The total number of connections so far. */
  readonly opened: () => number
  /** Closes all connections. */
  readonly drop: () => void
  readonly stop: () => Promise<void>
}

/** The default behaviour, which is correct. */
export const WELL_BEHAVED: Omit<Play, 'entries'> = {
  delay: 0,
  isSilent: false,
  references: [],
  injected: Buffer.alloc(0),
  referral: null,
}

type Certificate = { readonly cert: string | Buffer; readonly key: string | Buffer }

/**
 * Sends responses.
 * @param more raw bytes to send after the responses
 */
type Send = (responses: readonly Buffer[], more?: Buffer) => void

type Node = { readonly tag: number; readonly value: Buffer }

const [SUCCESS, REFERRAL, NO_SUCH_OBJECT, INVALID_CREDENTIALS, PROTOCOL_ERROR] = [0, 10, 32, 49, 2]
const START_TLS = '1.3.6.1.4.1.1466.20037'

/**
 * Starts a simulated LDAP server (RFC 4511). It can behave like Active Directory, or misbehave in ways that a real
 * OpenLDAP server can't.
 * @param secure `ldaps`: encrypted from the first byte; `start-tls`: encrypted after StartTLS; null: unencrypted
 */
export async function startLdapServer(
  entries: readonly PlayedEntry[],
  secure: { readonly mode: 'ldaps' | 'start-tls'; readonly certificate: Certificate } | null = null,
): Promise<LdapServer> {
  const play: Play = { ...WELL_BEHAVED, entries: [...entries] }
  const asked: string[] = []
  const sockets = new Set<Socket>()
  let opened = 0

  function serve(socket: Socket): void {
    let unread = Buffer.alloc(0)
    let working: Promise<void> = Promise.resolve()
    socket.on('error', () => {})
    const onData = (chunk: Buffer) => {
      unread = Buffer.concat([unread, chunk])
      for (;;) {
        const message = readNode(unread)
        if (message === null) return
        unread = unread.subarray(message.end)
        working = working.then(() => answer(socket, message.node, () => socket.off('data', onData)))
      }
    }
    socket.on('data', onData)
  }

  async function answer(socket: Socket, message: Node, letGo: () => void): Promise<void> {
    const [id, operation] = children(message.value)
    if (id === undefined || operation === undefined) return
    if (play.delay > 0) await new Promise((resolve) => setTimeout(resolve, play.delay))
    if (play.isSilent || socket.destroyed) return
    const send: Send = (responses, more = Buffer.alloc(0)) =>
      void socket.write(Buffer.concat([...responses.map((one) => node(0x30, node(id.tag, id.value), one)), more]))
    if (operation.tag === 0x60) send([bind(operation)])
    else if (operation.tag === 0x63) send(search(operation))
    else if (operation.tag === 0x42) socket.end()
    else if (operation.tag === 0x77) startTls(socket, operation, send, letGo)
  }

  function bind({ value }: Node): Buffer {
    const [, name, password] = children(value).map((one) => one.value.toString())
    asked.push(`bind ${name}${password === '' ? ' with an empty password' : ''}`)
    if (play.referral !== null) return result(0x61, REFERRAL, play.referral)
    // Accept empty passwords, as many servers do (RFC 4513, section 5.1.2).
    if (password === '') return result(0x61, SUCCESS)
    const entry = find(name ?? '')
    const isRight = entry?.password !== undefined && entry.password === password
    return result(0x61, isRight ? SUCCESS : INVALID_CREDENTIALS)
  }

  function search({ value }: Node): Buffer[] {
    const [base, scope, , most, , , filter, attributes] = children(value)
    if (!base || !scope || !most || !filter || !attributes) return [result(0x65, PROTOCOL_ERROR)]
    const dn = base.value.toString()
    asked.push(`search ${dn} ${textOf(filter)}`)
    if (play.referral !== null) return [result(0x65, REFERRAL, play.referral)]
    if (find(dn) === undefined) return [result(0x65, NO_SUCH_OBJECT)]
    const isWithin = (entry: PlayedEntry) =>
      isSame(entry.dn, dn) || (scope.value[0] === 2 && entry.dn.toLowerCase().endsWith(`,${dn.toLowerCase()}`))
    const found = play.entries.filter((entry) => isWithin(entry) && matches(entry, filter))
    const limit = Number.parseInt(most.value.toString('hex'), 16)
    const wanted = children(attributes.value).map((one) => one.value.toString().toLowerCase())
    return [
      ...(limit > 0 ? found.slice(0, limit) : found).map((entry) => entryNode(entry, wanted)),
      ...play.references.map((url) => node(0x73, text(url))),
      result(0x65, limit > 0 && found.length > limit ? 4 : SUCCESS),
    ]
  }

  function startTls(socket: Socket, { value }: Node, send: Send, letGo: () => void): void {
    const [name] = children(value)
    asked.push(`extended ${name?.value.toString()}`)
    if (secure?.mode !== 'start-tls' || name?.value.toString() !== START_TLS) {
      send([result(0x78, PROTOCOL_ERROR)])
      return
    }
    letGo()
    send([result(0x78, SUCCESS)], play.injected)
    secured(socket, secure.certificate)
  }

  function find(dn: string): PlayedEntry | undefined {
    return play.entries.find((entry) => isSame(entry.dn, dn))
  }

  function matches(entry: PlayedEntry, { tag, value }: Node): boolean {
    if (tag === 0xa0) return children(value).every((one) => matches(entry, one))
    if (tag === 0xa1) return children(value).some((one) => matches(entry, one))
    if (tag === 0xa2) return !children(value).every((one) => matches(entry, one))
    if (tag === 0x87) return value.toString().toLowerCase() === 'objectclass' || valuesOf(entry, value).length > 0
    if (tag === 0xa3) {
      const [attribute, wanted] = children(value)
      if (attribute === undefined || wanted === undefined) return false
      return valuesOf(entry, attribute.value).some((one) =>
        Buffer.isBuffer(one) ? one.equals(wanted.value) : isSame(one, wanted.value.toString()),
      )
    }
    if (tag === 0xa9) return matchesRule(entry, value)
    return false
  }

  /**
   * Whether the entry matches one of Active Directory's own matching rules: bitwise AND, or membership in nested
   * groups.
   */
  function matchesRule(entry: PlayedEntry, value: Buffer): boolean {
    const part = (wanted: number) => children(value).find(({ tag }) => tag === wanted)?.value ?? Buffer.alloc(0)
    const [rule, attribute, wanted] = [part(0x81).toString(), part(0x82), part(0x83).toString()]
    const values = valuesOf(entry, attribute).map(String)
    if (rule === '1.2.840.113556.1.4.803')
      return values.some((one) => (Number(one) & Number(wanted)) === Number(wanted))
    if (rule !== '1.2.840.113556.1.4.1941') return false
    return values.some((one) => {
      const member = find(one)
      return isSame(one, wanted) || (member !== undefined && matchesRule(member, value))
    })
  }

  function drop(): void {
    // Destroy an encrypted connection before the TCP connection under it.
    for (const socket of [...sockets].reverse()) socket.destroy()
  }

  function secured(socket: Socket, certificate: Certificate): void {
    const encrypted = new TLSSocket(socket, { isServer: true, ...certificate })
    sockets.add(encrypted)
    encrypted.once('close', () => sockets.delete(encrypted))
    serve(encrypted)
  }

  const server = createServer((socket) => {
    opened++
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
    socket.on('error', () => {})
    if (secure?.mode === 'ldaps') secured(socket, secure.certificate)
    else serve(socket)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as { port: number }).port,
    play,
    asked,
    connections: () => sockets.size,
    opened: () => opened,
    drop,
    async stop() {
      drop()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function isSame(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase()
}

function valuesOf({ attributes }: PlayedEntry, name: Buffer): readonly (string | Buffer)[] {
  return Object.entries(attributes).find(([one]) => isSame(one, name.toString()))?.[1] ?? []
}

function entryNode({ dn, attributes }: PlayedEntry, wanted: readonly string[]): Buffer {
  const listed = Object.entries(attributes).filter(([name]) => wanted.includes(name.toLowerCase()))
  const written = listed.map(([name, values]) => node(0x30, text(name), node(0x31, ...values.map((one) => text(one)))))
  return node(0x64, text(dn), node(0x30, ...written))
}

function result(tag: number, code: number, referral?: string): Buffer {
  const more = referral === undefined ? [] : [node(0xa3, text(referral))]
  return node(tag, node(0x0a, Buffer.from([code])), text(''), text(''), ...more)
}

/** Converts a search filter to its text form (RFC 4515), with escaped values. */
function textOf({ tag, value }: Node): string {
  const all = () => children(value).map(textOf).join('')
  if (tag === 0xa0) return `(&${all()})`
  if (tag === 0xa1) return `(|${all()})`
  if (tag === 0xa2) return `(!${all()})`
  if (tag === 0x87) return `(${value.toString()}=*)`
  const parts = children(value).map((one) => escaped(one.value))
  if (tag === 0xa9) return `(${parts[1]}:${parts[0]}:=${parts[2]})`
  return `(${parts[0]}${tag === 0xa3 ? '=' : `<${tag}>`}${parts.slice(1).join('')})`
}

function escaped(value: Buffer): string {
  return value
    .toString('latin1')
    .replace(/[^ -~]|[*()\\]/g, (one) => `\\${one.charCodeAt(0).toString(16).padStart(2, '0')}`)
}

// BER encoding (X.690). All lengths are definite, as RFC 4511 requires.

function text(value: string | Buffer): Buffer {
  return node(0x04, Buffer.from(value))
}

function node(tag: number, ...contents: readonly Buffer[]): Buffer {
  const value = Buffer.concat(contents)
  const digits = value.length.toString(16)
  const length = Buffer.from(digits.length % 2 === 0 ? digits : `0${digits}`, 'hex')
  const header = value.length < 0x80 ? Buffer.from([value.length]) : Buffer.from([0x80 | length.length, ...length])
  return Buffer.concat([Buffer.from([tag]), header, value])
}

function readNode(bytes: Buffer): { readonly node: Node; readonly end: number } | null {
  const [tag, first] = bytes
  if (tag === undefined || first === undefined) return null
  const more = first < 0x80 ? 0 : first & 0x7f
  if (bytes.length < 2 + more) return null
  const length = more === 0 ? first : Number.parseInt(bytes.subarray(2, 2 + more).toString('hex'), 16)
  const end = 2 + more + length
  return bytes.length < end ? null : { node: { tag, value: bytes.subarray(2 + more, end) }, end }
}

function children(bytes: Buffer): Node[] {
  const found: Node[] = []
  for (let at = 0; at < bytes.length; ) {
    const one = readNode(bytes.subarray(at))
    if (one === null) break
    found.push(one.node)
    at += one.end
  }
  return found
}
