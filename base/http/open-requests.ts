import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/**
 * Maximum number of requests of one HTTP/1.1 connection that are processed at the same time. Browsers don't pipeline.
 */
export const MOST_OPEN = 8
/**
 * Maximum number of queued requests per connection. A connection that sends more is closed. One chunk of up to 64 kB
 * can contain many requests.
 */
export const MOST_WAITING = 1000

type Connection = {
  open: number
  readonly waiting: (() => void)[]
  /** Whether this module has paused the socket. Node also pauses and resumes sockets for its own reasons. */
  isPaused: boolean
}

const connections = new WeakMap<Socket, Connection>()

/** Whether the connection has requests whose responses are still incomplete. Counts only those that `inTurn` handles. */
export function hasOpenRequests(socket: Socket): boolean {
  return (connections.get(socket)?.open ?? 0) > 0
}

/**
 * Processes at most `MOST_OPEN` pipelined requests of a connection (RFC 9112, 9.3.2) at a time. While others are
 * queued, it reads nothing from the socket. Responses must be sent in order, so processing more at a time would only
 * use memory for responses that can't be sent yet.
 */
export function inTurn(handle: RequestListener): RequestListener {
  function connectionOf(socket: Socket): Connection {
    const known = connections.get(socket)
    if (known !== undefined) return known
    const connection: Connection = { open: 0, waiting: [], isPaused: false }
    connections.set(socket, connection)
    socket.on('resume', () => pause(socket, connection))
    socket.once('close', () => void connection.waiting.splice(0))
    return connection
  }

  function pause(socket: Socket, connection: Connection): void {
    // Ignore a socket that Node has paused: only Node can resume it, because it has also paused the parser.
    if (connection.waiting.length === 0 || socket.isPaused()) return
    connection.isPaused = true
    socket.pause()
  }

  function begin(connection: Connection, request: IncomingMessage, response: ServerResponse): void {
    connection.open++
    // This event is emitted once. With `once`, removing the listener would take additional time.
    response.on('close', () => {
      connection.open--
      if (request.socket.destroyed) return
      connection.waiting.shift()?.()
      if (connection.waiting.length > 0 || !connection.isPaused) return
      connection.isPaused = false
      request.socket.resume()
    })
    handle(request, response)
  }

  return (request, response) => {
    const { socket } = request
    if (socket.destroyed) return
    const connection = connectionOf(socket)
    if (connection.open < MOST_OPEN && connection.waiting.length === 0) return begin(connection, request, response)
    if (connection.waiting.length >= MOST_WAITING) return void socket.destroy()
    connection.waiting.push(() => begin(connection, request, response))
    // Pause the socket only after the rest of the chunk has been parsed. Node resumes it at the end of each request in
    // the chunk.
    process.nextTick(pause, socket, connection)
  }
}
