import type { Server, ServerResponse } from 'node:http'
import type { Server as SecureServer } from 'node:https'
import type { Socket } from 'node:net'
import proxyAddr from 'proxy-addr'
import { repeat } from '../work/repeat.ts'
import { networkOf } from './network.ts'
import { endLargest, heldSlowly, MOST_HELD, type Unread } from './slow-connections.ts'

const LOOK_EVERY = 1000

type Seen = {
  readonly network: string | null
  readonly answers: Set<ServerResponse>
  /** The state at the last check. */
  last: Unread
}

/**
 * Limits the memory for HTTP/1.1 responses that the peer doesn't read. If slow connections have more than `mostHeld`
 * unread bytes in total, those with the most are closed. base/tls/http2-sessions.ts has the same limit for HTTP/2.
 * @param checkEvery interval between checks while responses are open, in ms
 * @returns a function that checks now
 */
export function boundUnreadAnswers(
  server: Server | SecureServer,
  trustedProxies: readonly string[] = [],
  mostHeld: number = MOST_HELD,
  checkEvery: number = LOOK_EVERY,
): () => void {
  const isTrusted = proxyAddr.compile([...trustedProxies])
  const connections = new Map<Socket, Seen>()
  let stopLooking: (() => Promise<void>) | null = null

  server.on('request', (request, response: ServerResponse) => {
    const { socket } = request
    const seen = connections.get(socket) ?? add(socket)
    seen.answers.add(response)
    response.on('close', () => void seen.answers.delete(response))
    stopLooking ??= repeat(checkEvery, look)
  })

  function add(socket: Socket): Seen {
    const address = socket.remoteAddress ?? ''
    const network = isTrusted(address, 0) ? null : networkOf(address)
    const seen: Seen = { network, answers: new Set(), last: { held: 0, taken: 0 } }
    connections.set(socket, seen)
    socket.once('close', () => {
      connections.delete(socket)
      if (connections.size > 0) return
      void stopLooking?.()
      stopLooking = null
    })
    return seen
  }

  function look(): void {
    const slow = [...connections].flatMap(([socket, seen]) => {
      const now = unreadOf(socket, seen)
      const held = heldSlowly(now, seen.last)
      seen.last = now
      return held === 0 ? [] : [{ network: seen.network, held, end: () => void socket.destroy() }]
    })
    endLargest(slow, mostHeld)
  }

  return look
}

/** In bytes. */
function unreadOf(socket: Socket, { answers }: Seen): Unread {
  let held = 0
  // For the response that is being sent, `writableLength` includes bytes in the socket's buffer.
  for (const answer of answers) held += answer.writableLength
  return { held, taken: socket.bytesWritten - socket.writableLength }
}
