import { haproxyPath } from '../support/haproxy.ts'
import { ask } from '../support/http.ts'
import { canMakeNamespaces } from '../support/network-namespace.ts'
import { postgresPath, startPostgres } from '../support/postgres-server.ts'
import { addLoadSolution, type Failure, type Load, type LoadOptions, startLoad } from '../support/proxied-load.ts'
import { type ProxiedNodes, startProxiedNodes } from '../support/proxied-nodes.ts'
import { until } from './host-window.ts'
import type { Rows } from './report.ts'

/** The number of sign-ins per second. */
const LOGINS = Number(process.env.LONG_LOGINS ?? 20)
const LOAD: LoadOptions = { logins: LOGINS, sessions: 2 * LOGINS, clients: 10 }
const ROUNDS = Number(process.env.LONG_ROUNDS ?? 3)
/**
 * How long a node drains before it stops. It moves its open clients only in the second half. By then, the proxy must
 * have noticed that the node is not ready, which takes 1.25 s.
 */
const DRAIN_TIME = '6s'
/** The pause between two kills or restarts, in ms. The load continues during the pause. */
const PAUSE = 4000

/**
 * Runs two nodes in network namespaces, with one PostgreSQL database and HAProxy configured as in `deploy/`. Users sign
 * in, send requests and have open clients. First, the run kills a node several times. Then it restarts both nodes in
 * turn, the same number of times.
 */
export async function twoNodes(rows: Rows): Promise<void> {
  if (postgresPath === undefined) throw new Error('it takes PostgreSQL (postgresql)')
  if (haproxyPath === undefined) throw new Error('it takes HAProxy (haproxy)')
  if (!canMakeNamespaces()) throw new Error('it takes root, and ip of iproute2, for network namespaces')
  const server = await startPostgres()
  try {
    const nodes = await startProxiedNodes(server, true, { DRAIN_TIME })
    try {
      await addLoadSolution(nodes)
      const admin = await ask(`${nodes.adminUrl}/admin/sign-in`)
      rows.atMost('the admin page through the proxy, other than 200', 0, admin.status === 200 ? 0 : 1)
      await killed(nodes, rows)
      await restarted(nodes, rows)
    } finally {
      await nodes.stop()
    }
  } finally {
    await server.stop()
  }
}

async function killed(proxied: ProxiedNodes, rows: Rows): Promise<void> {
  const load = await begin(proxied)
  const kills: { readonly at: number; readonly running: number }[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const node = nodeOf(proxied, round)
    const running = load.running()
    kills.push({ at: performance.now(), running })
    await node.end('SIGKILL')
    await goOn(load)
    await node.start()
    await pass(PAUSE)
  }
  const lost = await load.stop()
  rows.tell('kill -9 of a node: kills', kills.length)
  tellLoad(rows, 'kill -9', load)
  rows.atMost('kill -9: users that are not signed in any more', 0, lost.length)
  rows.tell('kill -9: steps that ran at the kills, on both nodes', sum(kills.map(({ running }) => running)))
  const inFlight = load.failures.filter((one) => kills.some(({ at }) => one.began <= at && at <= one.ended))
  rows.atMost('kill -9: failed steps that ran at a kill', sum(kills.map(({ running }) => running)), inFlight.length)
  rows.atMost('kill -9: failed steps that did not run at a kill', 0, load.failures.length - inFlight.length)
  tellFailures(rows, 'kill -9', load.failures)
}

async function restarted(proxied: ProxiedNodes, rows: Rows): Promise<void> {
  const load = await begin(proxied)
  const times: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    for (const index of [0, 1]) {
      const node = nodeOf(proxied, index)
      const start = performance.now()
      await node.end('SIGTERM')
      await node.start()
      times.push(performance.now() - start)
      await goOn(load)
      // Wait until the proxy sees this node as ready before the next one stops, as in a rolling restart.
      await pass(PAUSE)
    }
  }
  const lost = await load.stop()
  rows.tell(`restart, DRAIN_TIME ${DRAIN_TIME}: restarts`, times.length)
  tellLoad(rows, 'restart', load)
  rows.atMost(
    'restart: steps of sign-ins that failed',
    0,
    load.failures.filter(({ what }) => what !== 'session').length,
  )
  rows.atMost('restart: requests that failed', 0, load.failures.filter(({ what }) => what === 'session').length)
  rows.atMost('restart: users that are not signed in any more', 0, lost.length)
  rows.atMost('restart: users who were told that the connection is lost', 0, sum(load.clients.map((one) => one.lost)))
  rows.tell('restart: longest, from the signal until ready, ms', Math.max(...times))
  tellFailures(rows, 'restart', load.failures)
}

async function begin({ origin }: ProxiedNodes): Promise<Load> {
  const load = startLoad(origin, LOAD)
  await until('the clients to be open', async () => load.clients.length === LOAD.clients)
  await goOn(load)
  await pass(PAUSE)
  return load
}

/** Waits until each open client has received at least two more responses. */
async function goOn({ clients }: Load): Promise<void> {
  const before = clients.map(({ answered }) => answered)
  await until('the clients to go on', async () =>
    clients.every((one, index) => one.answered > (before[index] ?? 0) + 1),
  )
}

function tellLoad(rows: Rows, what: string, { clients, begun, signedIn, leftOut, failures }: Load): void {
  rows.tell(`${what}: sign-ins that began`, begun())
  rows.tell(`${what}: left out, since this machine did not keep up`, leftOut())
  rows.tell(`${what}: users that were signed in`, signedIn())
  rows.tell(`${what}: failed steps of sign-ins and requests`, failures.length)
  rows.tell(`${what}: presses in open clients that were answered`, sum(clients.map(({ answered }) => answered)))
  rows.atLeast(`${what}: clients that opened anew`, 1, sum(clients.map(({ reopened }) => reopened)))
  rows.atMost(`${what}: clients that ended`, 0, clients.filter(({ closed }) => closed !== null).length)
}

function tellFailures(rows: Rows, what: string, failures: readonly Failure[]): void {
  const kinds = new Map<string, number>()
  for (const { what: of, problem } of failures)
    kinds.set(`${of}: ${problem}`, (kinds.get(`${of}: ${problem}`) ?? 0) + 1)
  for (const [kind, count] of [...kinds].slice(0, 8)) rows.tell(`${what}: of them ${kind}`, count)
}

function nodeOf({ nodes }: ProxiedNodes, round: number) {
  const node = nodes[round % nodes.length]
  if (node === undefined) throw new TypeError('there are two nodes')
  return node
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}

function pass(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds))
}
