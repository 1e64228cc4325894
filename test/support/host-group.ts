import { mkdtempSync, rmSync } from 'node:fs'
import { Agent, createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ServerKindName } from '../../base/database/kind.ts'
import type { TestServer } from './database-server.ts'
import { type HostProcess, startHostProcess } from './host-process.ts'

/**
 * Several host processes that share a database. A load balancer in front of them sends each request to the next host.
 */
export type HostGroup = {
  /** The URL of the load balancer. */
  readonly url: string
  /** The `Authorization` header for requests as the admin account. */
  readonly admin: string
  readonly hosts: readonly HostProcess[]
  /** How many responses the load balancer has forwarded, by status. */
  readonly statuses: ReadonlyMap<number, number>
  readonly stop: () => Promise<void>
}

export const ADMIN_PASSWORD = 'admin of several hosts'
export const ADMIN = `Basic ${Buffer.from(`admin:${ADMIN_PASSWORD}`).toString('base64')}`

/** Properties for hosts that share the platform's database on this server. */
export function sharedProperties(
  kind: ServerKindName,
  { address, database }: Pick<TestServer, 'address' | 'database'>,
): Record<string, string> {
  const server = `DB_${kind.toUpperCase()}`
  return {
    PLATFORM_DATABASE: kind,
    PLATFORM_DATABASE_NAME: database,
    PLATFORM_KEY: 'the key that all hosts of a test share',
    SERVLET_PASSWORD: ADMIN_PASSWORD,
    [`${server}_SERVER`]: address.host,
    [`${server}_PORT`]: String(address.port),
    [`${server}_USERNAME`]: address.username,
    [`${server}_PASSWORD`]: address.password,
  }
}

/**
 * Starts all hosts at the same time, even if the database is empty. Requests can set their client address with
 * `X-Forwarded-For`.
 * @param properties the properties of every host; see `sharedProperties`
 */
export async function startHostGroup(count: number, properties: Record<string, string>): Promise<HostGroup> {
  const homes = Array.from({ length: count }, () => mkdtempSync(join(tmpdir(), 'solhost-group-')))
  const settings = { LOG_LEVEL: 'warn', TRUSTED_PROXIES: '127.0.0.1', ...properties }
  const starts = await Promise.allSettled(homes.map((home) => startHostProcess(home, settings)))
  const hosts = starts.flatMap((start) => (start.status === 'fulfilled' ? [start.value] : []))
  const statuses = new Map<number, number>()
  const balancer = await startBalancer(
    hosts.map(({ url }) => url),
    (status) => statuses.set(status, (statuses.get(status) ?? 0) + 1),
  )

  async function stop(): Promise<void> {
    await balancer.stop()
    for (const { child } of hosts) child.kill('SIGTERM')
    await Promise.all(hosts.map(({ gone }) => gone))
    for (const home of homes) rmSync(home, { recursive: true, force: true })
  }

  const failed = starts.find((start) => start.status === 'rejected')
  if (failed !== undefined) {
    await stop()
    throw failed.reason
  }
  return { url: balancer.url, admin: ADMIN, hosts, statuses, stop }
}

/** Use round robin without session affinity, so consecutive requests from one browser are sent to different hosts. */
async function startBalancer(urls: readonly string[], onStatus: (status: number) => void) {
  // Don't use keep-alive: a host may close a connection just before it is reused.
  const agent = new Agent()
  let turn = 0
  const server = createServer((request: IncomingMessage, response: ServerResponse) => {
    const url = urls[turn++ % urls.length] as string
    const { method = 'GET', headers } = request
    const forwarded = httpRequest(`${url}${request.url}`, { method, headers, agent }, (answer) => {
      onStatus(answer.statusCode ?? 0)
      response.writeHead(answer.statusCode ?? 502, answer.rawHeaders)
      answer.pipe(response)
    })
    forwarded.on('error', () => {
      onStatus(502)
      if (!response.headersSent) response.writeHead(502)
      response.end()
    })
    request.pipe(forwarded)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async stop() {
      agent.destroy()
      const closed = new Promise((resolve) => server.close(resolve))
      server.closeAllConnections()
      await closed
    },
  }
}
