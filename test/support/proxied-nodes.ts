import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePort, type TestServer } from './database-server.ts'
import { originOf, proxyCertificate, proxyVariables, startHaproxy } from './haproxy.ts'
import { ADMIN, sharedProperties } from './host-group.ts'
import { ask } from './http.ts'
import { makeNamespace, type NetworkNamespace } from './network-namespace.ts'
import { PATIENCE } from './patience.ts'
import { UNTHROTTLED } from './unthrottled.ts'

const CLI = fileURLToPath(new URL('../../cli/entry.ts', import.meta.url))

/** A host process that can be restarted at the same address. */
export type ProxiedNode = {
  /** The node's own URL, for tools that bypass the proxy. */
  readonly url: string
  /** Starts the process. Resolves when it is ready. */
  readonly start: () => Promise<void>
  /** Sends a signal to the process. Resolves when the process has exited. */
  readonly end: (signal: 'SIGTERM' | 'SIGKILL') => Promise<void>
  readonly isReady: () => Promise<boolean>
  readonly output: () => string
}

export type ProxiedNodes = Awaited<ReturnType<typeof startProxiedNodes>>

/**
 * Starts two host processes that share a PostgreSQL database. They are behind HAProxy with the configuration in
 * `deploy/`.
 * @param apart whether each process runs in its own network namespace; if not, both have their own loopback address
 */
export async function startProxiedNodes(server: TestServer, apart: boolean, properties: Record<string, string>) {
  const ended: (() => unknown)[] = []
  async function stop(): Promise<void> {
    for (const end of ended.reverse()) await end()
  }
  try {
    const spaces = apart ? [makeNamespace(0), makeNamespace(1)] : []
    ended.push(...spaces.map(({ remove }) => remove))
    const port = apart ? 8080 : await freePort()
    const addresses = [spaces[0]?.address ?? '127.0.0.1', spaces[1]?.address ?? '127.0.0.2'] as const
    const certificate = proxyCertificate()
    ended.push(certificate.remove)
    const variables = await proxyVariables(addresses, port, certificate.file)
    const databases = await Promise.all(spaces.map(({ outside }) => forward(outside, server.address.port)))
    ended.push(...databases.map(({ close }) => close))
    const nodes = addresses.map((address, index) => {
      const space = spaces[index]
      const at = databases[index] ?? server.address
      return createNode(
        space,
        {
          ...sharedProperties('alpha', {
            address: { ...server.address, host: space?.outside ?? server.address.host, port: at.port },
            database: server.database,
          }),
          ...UNTHROTTLED,
          HOST: apart ? '0.0.0.0' : address,
          PORT: String(port),
          ADMIN_PORT: apart ? String(port + 1) : '0',
          ADMIN_HOST: apart ? '0.0.0.0' : address,
          ENVIRONMENT: 'prod',
          LOG_LEVEL: 'warn',
          PUBLIC_URL: originOf(variables),
          TRUSTED_PROXIES: space?.outside ?? '127.0.0.1',
          ...properties,
        },
        `http://${address}:${port}`,
      )
    })
    ended.push(...nodes.map(({ remove }) => remove))
    await Promise.all(nodes.map((node) => node.start()))
    const proxy = await startHaproxy(variables)
    ended.push(proxy.stop)
    return {
      origin: proxy.origin,
      adminUrl: `http://localhost:${variables.PROXY_ADMIN_PORT}`,
      admin: ADMIN,
      nodes: nodes as readonly ProxiedNode[],
      proxy,
      stop,
    }
  } catch (error) {
    await stop()
    throw error
  }
}

function createNode(space: NetworkNamespace | undefined, properties: Record<string, string>, url: string) {
  const home = mkdtempSync(join(tmpdir(), 'solhost-node-'))
  const [program, ...prefix] = [...(space?.prefix ?? []), process.execPath] as [string, ...string[]]
  let child: ChildProcess | null = null
  let output = ''
  let gone: Promise<void> = Promise.resolve()

  const isReady = () =>
    ask(`${url}/health/ready`).then(
      ({ status }) => status === 200,
      () => false,
    )

  async function end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    child?.kill(signal)
    await gone
  }

  return {
    url,
    isReady,
    end,
    output: () => output,
    async start() {
      const env = { ...process.env, ...properties, PLATFORM_HOME: home }
      const started = spawn(program, [...prefix, '--disable-warning=ExperimentalWarning', CLI, 'start'], { env })
      child = started
      gone = new Promise((resolve) => started.once('exit', () => resolve()))
      for (const stream of [started.stdout, started.stderr]) {
        stream.on('data', (chunk) => {
          if (output.length < 100_000) output += String(chunk)
        })
      }
      const until = performance.now() + PATIENCE
      while (!(await isReady())) {
        if (started.exitCode !== null || performance.now() > until) throw new Error(`the node did not start: ${output}`)
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
    },
    async remove() {
      await end('SIGKILL')
      rmSync(home, { recursive: true, force: true })
    },
  }
}

/** Forwards connections to this address to the database's port on loopback. */
async function forward(address: string, to: number) {
  const server = createServer((near) => {
    const far = connect(to, '127.0.0.1')
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      one.on('error', () => other.destroy())
      one.pipe(other)
    }
  })
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(0, address, resolve))
  const { port } = server.address() as { port: number }
  return { port, close: () => void server.close() }
}
