import { once } from 'node:events'
import { connect as connectTcp, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { changed, fuzzedFrames, fuzzedHttp2, fuzzedRequests, handshake } from './fuzzed-bytes.ts'
import { PATIENCE } from './patience.ts'
import { type Random, seededRandom } from './random.ts'

/** A server that the test sends malformed data to. */
export type FuzzTarget = {
  readonly name: string
  /** The server's address, without a path. */
  readonly url: string
  /** The path for health checks. */
  readonly healthPath: string
  /** The path for WebSockets, or null if the server has none. */
  readonly socketPath: string | null
  /** Why the server's process ended, or null while it is running. */
  readonly ended: () => string | null
}

export type FuzzPlan = {
  readonly seed: number
  /**
   * The total number of connections to all targets: `requests` with HTTP requests, and `sockets` with WebSocket
   * handshakes.
   */
  readonly requests: number
  readonly sockets: number
}

export type FuzzResult = {
  readonly requests: number
  readonly sockets: number
  /** How many connections received a response. */
  readonly answered: number
  /** How many WebSocket handshakes the servers accepted. */
  readonly upgraded: number
  /** Descriptions of the failures, with the seeds of the connections that were open at the time. */
  readonly failures: readonly string[]
  /** The longest time, in ms, that a well-behaved client waited for a response. */
  readonly longestWait: number
}

/** How many connections are open at the same time. */
const PARALLEL = 24
/** How long to wait for a response, in ms. There is no response to an incomplete request. */
const ANSWER_TIME = 120
/** The number of connections between two health checks of the target. */
const LOOK_EVERY = 200

/** Sends malformed requests and frames to each target in turn. After a failure, continues with the next target. */
export async function fuzz(targets: readonly FuzzTarget[], { seed, requests, sockets }: FuzzPlan): Promise<FuzzResult> {
  const results: FuzzResult[] = []
  const withSockets = targets.filter(({ socketPath }) => socketPath !== null)
  for (const [index, target] of targets.entries()) {
    const ofSockets = target.socketPath === null ? 0 : Math.ceil(sockets / withSockets.length)
    results.push(await fuzzOne(target, seed + index * 1_000_003, Math.ceil(requests / targets.length), ofSockets))
  }
  const sum = (of: (result: FuzzResult) => number) => results.reduce((all, result) => all + of(result), 0)
  return {
    requests: sum((result) => result.requests),
    sockets: sum((result) => result.sockets),
    answered: sum((result) => result.answered),
    upgraded: sum((result) => result.upgraded),
    failures: results.flatMap(({ failures }) => failures),
    longestWait: Math.max(...results.map(({ longestWait }) => longestWait)),
  }
}

async function fuzzOne(target: FuzzTarget, seed: number, requests: number, sockets: number): Promise<FuzzResult> {
  const failures: string[] = []
  let longestWait = 0
  let done = 0
  let answered = 0
  let upgraded = 0
  const total = requests + sockets
  // Spread the WebSocket handshakes evenly among the requests.
  const isSocket = (index: number) =>
    Math.floor(((index + 1) * sockets) / total) > Math.floor((index * sockets) / total)

  async function work(): Promise<void> {
    while (done < total && failures.length === 0) {
      const index = done++
      if (index % LOOK_EVERY === 0) await look()
      const random = seededRandom(seed + index)
      const send = isSocket(index) ? playSocket : playRequest
      // Ignore errors: with malformed data, a connection may end in any way.
      const answer = await send(target, random).catch(() => '')
      if (answer !== '') answered++
      if (answer.startsWith('HTTP/1.1 101')) upgraded++
    }
  }

  async function look(): Promise<void> {
    const start = performance.now()
    const problem = target.ended() ?? (await whyUnhealthy(target))
    longestWait = Math.max(longestWait, performance.now() - start)
    if (problem !== null)
      failures.push(`${target.name}, connections ${done - PARALLEL} to ${done} of seed ${seed}: ${problem}`)
  }

  await Promise.all(Array.from({ length: PARALLEL }, work))
  await look()
  return { requests, sockets, answered, upgraded, failures, longestWait }
}

/**
 * Sends a valid request while the malformed data is being sent.
 * @returns null if the server responds; otherwise, what is wrong
 */
async function whyUnhealthy(target: FuzzTarget): Promise<string | null> {
  const until = performance.now() + PATIENCE
  let problem = 'it does not answer'
  while (performance.now() < until) {
    const ended = target.ended()
    if (ended !== null) return ended
    try {
      const socket = await open(target.url, 'http/1.1')
      socket.write(
        `GET ${target.healthPath} HTTP/1.1\r\nHost: ${new URL(target.url).host}\r\nConnection: close\r\n\r\n`,
      )
      const answer = await socket
        .setTimeout(PATIENCE, () => socket.destroy())
        .take(1)
        .toArray()
      socket.destroy()
      const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(String(answer[0]))?.[1])
      // Accept any status except server errors: some ports respond only with redirects.
      if (status >= 200 && status < 500) return null
      problem = `its health is answered with ${String(answer[0]).slice(0, 40)}`
    } catch (error) {
      problem = String(error)
    }
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  return problem
}

async function open(url: string, protocol: 'http/1.1' | 'h2' | null): Promise<Socket> {
  const { protocol: scheme, port } = new URL(url)
  const place = { host: '127.0.0.1', port: Number(port) }
  if (scheme === 'http:' || protocol === null) {
    const socket = connectTcp(place)
    await once(socket, 'connect')
    return socket
  }
  // Don't verify the certificate. It is not what is tested here.
  const socket = connectTls({ ...place, rejectUnauthorized: false, ALPNProtocols: [protocol], servername: 'localhost' })
  await once(socket, 'secureConnect')
  return socket
}

/**
 * Sends malformed HTTP requests over one connection.
 * @returns the beginning of the response, or '' if there is none
 */
async function playRequest({ url }: FuzzTarget, random: Random): Promise<string> {
  const isSecure = url.startsWith('https:')
  const kind = isSecure ? random.below(10) : random.below(20) === 0 ? 1 : 9
  // On a TLS port, 10% of the connections don't use TLS, and 30% use HTTP/2. Other ports don't support HTTP/2, so only
  // 5% use it there.
  if (isSecure && kind === 0) return converse(await open(url, null), random, fuzzedRequests(random))
  const isHttp2 = kind < 4
  return converse(
    await open(url, isHttp2 ? 'h2' : 'http/1.1'),
    random,
    isHttp2 ? fuzzedHttp2(random) : fuzzedRequests(random),
  )
}

/** Sends a WebSocket handshake, usually a valid one, then malformed frames. */
async function playSocket({ url, socketPath }: FuzzTarget, random: Random): Promise<string> {
  const socket = await open(url, 'http/1.1')
  const hello = Buffer.from(handshake(socketPath ?? '/', url), 'latin1')
  const frames = fuzzedFrames(random)
  // In one of four cases, send the frames without waiting for the response to the handshake.
  if (random.below(4) === 0) return converse(socket, random, Buffer.concat([hello, frames]))
  const isGood = random.below(8) > 0
  // Wait longer for the response to a valid handshake, which always arrives, even if the machine is busy.
  const first = answerOf(socket, isGood ? PATIENCE : ANSWER_TIME)
  socket.write(isGood ? hello : changed(random, hello))
  const answer = await first
  await converse(socket, random, frames)
  return answer
}

/**
 * Writes the data in up to three chunks and waits for a response. Closes the connection in a random way.
 * @returns the beginning of the response, or '' if there is none
 */
async function converse(socket: Socket, random: Random, bytes: Buffer): Promise<string> {
  const answer = answerOf(socket)
  for (let at = 0, pieces = 1 + random.below(3); pieces > 0 && at < bytes.length; pieces--) {
    const end = pieces === 1 ? bytes.length : at + random.below(bytes.length - at + 1)
    if (!socket.destroyed) socket.write(bytes.subarray(at, end))
    at = end
    if (pieces > 1) await new Promise((resolve) => setImmediate(resolve))
  }
  const how = random.below(6)
  if (how === 0) socket.resetAndDestroy()
  if (how === 1) socket.end()
  const received = await answer
  if (how === 2) socket.resetAndDestroy()
  else socket.destroy()
  return received
}

/**
 * Waits for the first response.
 * @returns the beginning of the response, or '' if the connection closes or the time is up first
 */
function answerOf(socket: Socket, time = ANSWER_TIME): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>()
  const timer = setTimeout(resolve, time, '')
  socket.on('error', () => {})
  socket.once('data', (chunk: Buffer) => resolve(chunk.toString('latin1', 0, 20)))
  socket.once('close', () => resolve(''))
  return promise.finally(() => clearTimeout(timer))
}
