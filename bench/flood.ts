// A worker thread that sends requests to a URL at a fixed rate, even if earlier ones have no response yet. Because it
// is a separate thread, it does not delay the thread that measures other requests. When it receives a message, it stops
// and replies with the number of responses per status.
import { Agent } from 'node:http'
import { parentPort, workerData } from 'node:worker_threads'
import { statusOf } from './status-of.ts'

/** Maximum number of requests in progress. */
const MOST = 2000

const { url, perSecond } = workerData as { readonly url: string; readonly perSecond: number }
const agent = new Agent({ keepAlive: true, maxSockets: 64 })
const statuses = new Map<number, number>()
const running = new Set<Promise<void>>()
const begun = performance.now()
let sent = 0

const timer = setInterval(() => {
  const due = ((performance.now() - begun) * perSecond) / 1000
  for (; sent < due && running.size < MOST; sent++) {
    const one = statusOf(url, agent).then((status) => {
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
      running.delete(one)
    })
    running.add(one)
  }
}, 5)

parentPort?.once('message', async () => {
  clearInterval(timer)
  await Promise.all(running)
  agent.destroy()
  parentPort?.postMessage(statuses)
})
