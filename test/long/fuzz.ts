import { fuzz } from '../support/fuzz.ts'
import { startFuzzTargets } from '../support/fuzz-targets.ts'
import type { Rows } from './report.ts'

const REQUESTS = Number(process.env.LONG_REQUESTS ?? 50_000)
const SOCKETS = Number(process.env.LONG_SOCKETS ?? 2_000)
/** The seed. To repeat an earlier run, set LONG_SEED to the seed that it printed. */
const SEED = Number(process.env.LONG_SEED ?? Date.now() % 2 ** 31)
/**
 * The longest time, in ms, that a well-behaved client may wait during the attack. It is long because the same machine
 * runs both the servers and the clients.
 */
const LONGEST_WAIT = 5000

/**
 * Sends malformed HTTP/1.1, HTTP/2 and WebSocket bytes to every server. They must neither crash the server nor make a
 * well-behaved client wait.
 */
export async function fuzzServers(rows: Rows): Promise<void> {
  process.stdout.write(`seed ${SEED}\n`)
  await using started = await startFuzzTargets()
  const result = await fuzz(started.targets, { seed: SEED, requests: REQUESTS, sockets: SOCKETS })
  for (const failure of result.failures) process.stderr.write(`${failure}\n`)
  rows.tell('seed', String(SEED))
  rows.tell('malformed requests', result.requests)
  rows.tell('WebSocket connections', result.sockets)
  rows.tell('of both, answered', result.answered)
  rows.atLeast('WebSockets that were accepted', SOCKETS / 4, result.upgraded)
  rows.atMost('processes that ended or stopped answering', 0, result.failures.length)
  rows.atMost('longest wait of a healthy client (ms)', LONGEST_WAIT, result.longestWait)
}
