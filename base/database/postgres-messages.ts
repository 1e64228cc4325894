import type { Client } from 'pg'

/** Bytes before a message's body: its type, and the body's length plus 4. */
const HEADER = 5
/** PostgreSQL's own limit for a message, in bytes. */
const LARGEST = 1024 ** 3
/** The types of messages with a list of fields: ErrorResponse and NoticeResponse. */
const FIELDS = ['E', 'N'].map((type) => type.charCodeAt(0))

type Listener = (value: never) => void
type Stream = { on(event: string, listener: Listener): unknown; destroy(error: Error): void }

declare module 'pg' {
  interface Connection {
    /** Connects the parser to the socket, or to the TLS socket. The package's type declarations lack this method. */
    attachListeners(stream: Stream): void
  }
}

/**
 * Makes a client close its connection if the server sends anything other than PostgreSQL's messages. The driver's parser
 * would throw an exception that nothing catches, which terminates the process, or would loop forever. Call this before
 * the client connects.
 */
export function rejectInvalidMessages(client: Client): void {
  const { connection } = client
  const attach = connection.attachListeners.bind(connection)
  connection.attachListeners = (stream) => {
    const on: Stream['on'] = (event, listener) =>
      stream.on(event, event === 'data' ? guarded(listener as (chunk: Buffer) => void, stream) : listener)
    attach({ on, destroy: (error) => stream.destroy(error) })
  }
}

function guarded(parse: (chunk: Buffer) => void, stream: Stream): (chunk: Buffer) => void {
  const check = createMessageCheck()
  let isInvalid = false
  return (chunk) => {
    if (isInvalid) return
    try {
      check(chunk)
      parse(chunk)
    } catch (cause) {
      isInvalid = true
      // All database kinds treat this code as an unreachable server.
      const error = new Error('the database server sent an invalid message', { cause })
      stream.destroy(Object.assign(error, { code: 'EBADMSG' }))
    }
  }
}

/**
 * Returns a function that checks the next bytes from the server. It throws at a message with an invalid length, and at a
 * list of fields without an end.
 * @see https://www.postgresql.org/docs/current/protocol-message-formats.html
 */
export function createMessageCheck(): (chunk: Buffer) => void {
  const header = Buffer.alloc(HEADER)
  let headerSize = 0
  let left = 0
  /** The last two bytes of a list of fields. */
  let end: readonly number[] = []

  function readHeader(chunk: Buffer, from: number): number {
    const copied = chunk.copy(header, headerSize, from)
    headerSize += copied
    if (headerSize === HEADER) {
      left = header.readUInt32BE(1) - (HEADER - 1)
      if (left < 0 || left > LARGEST) throw new RangeError('a message has an invalid length')
      end = []
    }
    return from + copied
  }

  function readBody(chunk: Buffer, from: number): number {
    const to = Math.min(from + left, chunk.length)
    left -= to - from
    if (FIELDS.includes(header[0] as number)) end = [...end, ...chunk.subarray(Math.max(from, to - 2), to)].slice(-2)
    return to
  }

  return (chunk) => {
    let offset = 0
    while (offset < chunk.length) {
      offset = headerSize < HEADER ? readHeader(chunk, offset) : readBody(chunk, offset)
      if (headerSize < HEADER || left > 0) continue
      // The last field ends with a zero byte, and another one ends the list. The parser looks for it without a bound.
      if (FIELDS.includes(header[0] as number) && (end.length === 0 || end.some((byte) => byte !== 0)))
        throw new RangeError('a list of fields does not end')
      headerSize = 0
    }
  }
}
