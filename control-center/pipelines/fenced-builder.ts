/*
 * A separate program that runs a builder in the network namespace it was started in, which has only loopback. It relays
 * the builder's proxy connections to the proxy's Unix socket, because Unix sockets work across network namespaces. The
 * environment variable WAY_OUT contains the settings; the arguments are the builder's command.
 */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { request } from 'node:http'
import { connect, createServer, type Server, type Socket } from 'node:net'

/** The proxy's settings, as JSON in the environment. */
export type WayOut = {
  /** The path of the proxy's Unix socket. */
  readonly socket: string
  /** The loopback port where the builder expects its proxy. */
  readonly port: number
  /** Username and password for the proxy, as base64. */
  readonly login: string
  /**
   * Registries on loopback that the operator lists, as `host:port`. Each gets a separate relay, because builders don't
   * use a proxy for loopback.
   */
  readonly places: readonly string[]
}

const { WAY_OUT = '', ...environment } = process.env
const [command = '', ...args] = process.argv.slice(2)
if (import.meta.main) await runFenced(JSON.parse(WAY_OUT) as WayOut)

async function runFenced({ socket: file, port, login, places }: WayOut): Promise<void> {
  // Ignore SIGTERM and exit with the builder, which may need time to clean up.
  process.on('SIGTERM', () => {})
  const up = spawnSync('ip', ['link', 'set', 'lo', 'up'], { encoding: 'utf8' })
  if (up.status !== 0)
    throw new Error(`The loopback interface could not be enabled ("ip link set lo up" failed): ${up.stderr}`)

  await listen(
    createServer((near) => join(near, connect(file))),
    '127.0.0.1',
    port,
  )
  for (const place of places) {
    const [, host = '', ofPlace] = /^(.*):(\d+)$/.exec(place) ?? []
    const server = createServer((near) => {
      const headers = { 'proxy-authorization': `Basic ${login}` }
      const asked = request({ socketPath: file, method: 'CONNECT', path: place, headers, agent: false })
      asked.on('connect', ({ statusCode }, far, head) => {
        if (head.length > 0) far.unshift(head)
        if (statusCode === 200) join(near, far as Socket)
        else near.destroy()
      })
      asked.on('error', () => near.destroy())
      near.on('error', () => asked.destroy())
      asked.end()
    })
    await listen(server, host.replace(/^\[|\]$/g, ''), Number(ofPlace))
  }

  const builder = spawn(command, args, { stdio: 'inherit', env: environment })
  builder.once('error', (error) => {
    console.error(`"${command}" could not be started: ${error.message}. Check BUILDER_COMMAND.`)
    process.exit(127)
  })
  builder.once('exit', (code) => process.exit(code ?? 1))
}

function join(near: Socket, far: Socket): void {
  // `destroySoon` still sends the data that either side wrote before it closed.
  near.on('error', () => near.destroy()).on('close', () => far.destroySoon())
  far.on('error', () => far.destroy()).on('close', () => near.destroySoon())
  near.pipe(far).pipe(near)
}

async function listen(server: Server, host: string, port: number): Promise<void> {
  server.listen(port, host)
  await once(server, 'listening')
}
