import { createServer, type Socket } from 'node:net'
import type { DatabaseServer } from '../../base/database/kind.ts'

/** The response to one statement: rows, or a SQL Server error. */
export type TdsAnswer = {
  readonly rows?: readonly Readonly<Record<string, TdsValue>>[]
  readonly error?: { readonly number: number; readonly message: string }
}
type TdsValue = string | bigint | Uint8Array | null

export type TdsServer = {
  readonly address: DatabaseServer
  /** The SQL statements that the server has received, in order. */
  readonly statements: readonly string[]
  /** The number of open connections. */
  readonly open: () => number
  readonly breakConnections: () => void
  readonly stop: () => Promise<void>
}

/**
 * Starts a minimal fake of Microsoft SQL Server. A driver can sign in and send statements, and the function `answer`
 * returns the responses. Tests with it show that the driver is integrated correctly, but not how a real server behaves.
 * @param login if present, every login fails with this error
 * @see https://learn.microsoft.com/openspecs/windows_protocols/ms-tds/
 */
export async function startTdsServer(
  answer: (statement: string) => TdsAnswer,
  login: TdsAnswer['error'] | null = null,
): Promise<TdsServer> {
  const statements: string[] = []
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket)).on('error', () => socket.destroy())
    onMessages(socket, (type, message) => send(socket, replyTo(type, message)))
  })

  function replyTo(type: number, message: Buffer): Buffer {
    if (type === TYPES.preLogin) return PRE_LOGIN
    if (type === TYPES.login) {
      return login === null ? Buffer.concat([LOGIN_ACK, DATABASE_CHANGE, done(0)]) : refusal(login)
    }
    if (type === TYPES.transaction) return Buffer.concat([transactionChange(message), done(0)])
    // A SQL batch contains only the driver's connection settings.
    if (type === TYPES.batch) return done(0)
    const statement = statementOf(message)
    statements.push(statement)
    const { rows = [], error } = answer(statement)
    return error === undefined ? Buffer.concat([...tableOf(rows), done(rows.length)]) : refusal(error)
  }

  const port = await new Promise<number>((resolve) =>
    server.listen(0, '127.0.0.1', () => resolve((server.address() as { port: number }).port)),
  )
  const breakConnections = () => {
    for (const socket of sockets) socket.resetAndDestroy()
  }
  return {
    address: { host: '127.0.0.1', port, username: 'sa', password: 'tds password', tls: 'off' },
    statements,
    open: () => sockets.size,
    breakConnections,
    stop() {
      breakConnections()
      return new Promise((resolve) => server.close(() => resolve()))
    },
  }
}

const TYPES = { batch: 1, call: 3, reply: 4, transaction: 14, login: 16, preLogin: 18 } as const
const HEADER = 8

/** Joins the packets of a message. If the lowest bit of the status is set, the packet is the last one. */
function onMessages(socket: Socket, take: (type: number, message: Buffer) => void): void {
  let bytes = Buffer.alloc(0)
  let parts: Buffer[] = []
  socket.on('data', (chunk: Buffer) => {
    bytes = Buffer.concat([bytes, chunk])
    while (bytes.length >= HEADER && bytes.length >= bytes.readUInt16BE(2)) {
      const length = bytes.readUInt16BE(2)
      parts.push(bytes.subarray(HEADER, length))
      if ((bytes.readUInt8(1) & 1) === 1) {
        take(bytes.readUInt8(0), Buffer.concat(parts))
        parts = []
      }
      bytes = bytes.subarray(length)
    }
  })
}

function send(socket: Socket, message: Buffer): void {
  for (let at = 0; at < message.length; at += 4000) {
    const part = message.subarray(at, at + 4000)
    const isLast = at + 4000 >= message.length
    const head = Buffer.from([TYPES.reply, isLast ? 1 : 0, 0, 0, 0, 0, 1, 0])
    head.writeUInt16BE(part.length + HEADER, 2)
    socket.write(Buffer.concat([head, part]))
  }
}

/** Returns the first argument of the call to sp_executesql, which is the SQL statement. */
function statementOf(message: Buffer): string {
  let at = message.readUInt32LE(0)
  at += 2 + 2 + 2 // Skip 0xffff, the procedure's number and the flags.
  at += 1 + 2 * message.readUInt8(at) // Skip the argument's name.
  at += 1 + 1 // Skip the argument's status and type.
  const length = message.readUInt16LE(at)
  at += 2 + 5 // Skip the length and the collation.
  if (length !== 0xffff) return message.subarray(at + 2, at + 2 + message.readUInt16LE(at)).toString('utf16le')
  const parts: Buffer[] = []
  at += 8
  for (let size = message.readUInt32LE(at); size > 0; size = message.readUInt32LE(at)) {
    parts.push(message.subarray(at + 4, at + 4 + size))
    at += 4 + size
  }
  return Buffer.concat(parts).toString('utf16le')
}

/** The pre-login response: version 16, without encryption. */
const PRE_LOGIN = Buffer.from([0, 0, 11, 0, 6, 1, 0, 17, 0, 1, 255, 16, 0, 0, 0, 0, 0, 2])
const COLLATION = Buffer.from([9, 4, 208, 0, 52])
/** The protocol version: TDS 7.4. */
const LOGIN_ACK = token(173, Buffer.from([1, 0x74, 0, 0, 4]), shortText('SQL'), Buffer.from([16, 0, 0, 0]))
const DATABASE_CHANGE = token(227, Buffer.from([1]), shortText('platform'), shortText('master'))

function token(code: number, ...parts: readonly Buffer[]): Buffer {
  const value = Buffer.concat(parts)
  return Buffer.concat([Buffer.from([code]), u16(value.length), value])
}

function done(rows: number, status = 0x10): Buffer {
  const count = Buffer.alloc(8)
  count.writeBigUInt64LE(BigInt(rows))
  return Buffer.concat([Buffer.from([253]), u16(status), u16(0), count])
}

function refusal({ number, message }: { readonly number: number; readonly message: string }): Buffer {
  const text = Buffer.concat([u16(message.length), Buffer.from(message, 'utf16le')])
  const error = token(170, u32(number), Buffer.from([1, 14]), text, shortText('tds'), shortText(''), u32(1))
  return Buffer.concat([error, done(0, 2)])
}

/**
 * The server sends a descriptor when a transaction starts. When the transaction ends, the descriptor becomes invalid.
 */
function transactionChange(message: Buffer): Buffer {
  const kind = message.readUInt16LE(message.readUInt32LE(0))
  const descriptor = Buffer.concat([Buffer.from([8]), Buffer.from([1, 2, 3, 4, 5, 6, 7, 8])])
  const none = Buffer.from([0])
  if (kind === 5) return token(227, Buffer.from([8]), descriptor, none)
  return token(227, Buffer.from([kind === 7 ? 9 : 10]), none, descriptor)
}

function tableOf(rows: readonly Readonly<Record<string, TdsValue>>[]): Buffer[] {
  const [first] = rows
  if (first === undefined) return []
  const columns = Object.entries(first).map(([name, value]) =>
    Buffer.concat([u32(0), u16(1), typeOf(value), shortText(name)]),
  )
  const table = Buffer.concat([Buffer.from([129]), u16(columns.length), ...columns])
  return [table, ...rows.map((row) => Buffer.concat([Buffer.from([209]), ...Object.values(row).map(bytesOf)]))]
}

function typeOf(value: TdsValue): Buffer {
  if (typeof value === 'bigint') return Buffer.from([38, 8])
  if (value instanceof Uint8Array) return Buffer.concat([Buffer.from([165]), u16(8000)])
  return Buffer.concat([Buffer.from([231]), u16(8000), COLLATION])
}

function bytesOf(value: TdsValue): Buffer {
  if (value === null) return u16(0xffff)
  if (typeof value === 'bigint') {
    const bytes = Buffer.alloc(9, 8)
    bytes.writeBigInt64LE(value, 1)
    return bytes
  }
  const bytes = value instanceof Uint8Array ? Buffer.from(value) : Buffer.from(value, 'utf16le')
  return Buffer.concat([u16(bytes.length), bytes])
}

function shortText(text: string): Buffer {
  return Buffer.concat([Buffer.from([text.length]), Buffer.from(text, 'utf16le')])
}

function u16(value: number): Buffer {
  const bytes = Buffer.alloc(2)
  bytes.writeUInt16LE(value)
  return bytes
}

function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value)
  return bytes
}
