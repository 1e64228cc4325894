/*
 * A program of its own: runs a builder in the network that it was started in, which has nothing but loopback, and leads what the
 * builder asks of its proxy out of it, by a socket of the file system. Such sockets belong to no network.
 *
 * The environment's WAY_OUT says how; the arguments are the builder's command.
 */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { request } from 'node:http'
import { connect, createServer, type Server, type Socket } from 'node:net'

/** How the builder gets out, as JSON in the environment. */
export type WayOut = {
  /** The file of the proxy's socket. */
  readonly socket: string
  /** Where the builder looks for its proxy, on loopback. */
  readonly port: number
  /** For the proxy: user name and password in base64. */
  readonly login: string
  /** Registries on loopback that the operator lists, as `host:port`: a builder asks no proxy for them. */
  readonly places: readonly string[]
}

const { WAY_OUT = '', ...environment } = process.env
const [command = '', ...args] = process.argv.slice(2)
if (import.meta.main) await runFenced(JSON.parse(WAY_OUT) as WayOut)

async function runFenced({ socket: file, port, login, places }: WayOut): Promise<void> {
  // Only what it started ends it: the builder may have something to tidy up.
  process.on('SIGTERM', () => {})
  const up = spawnSync('ip', ['link', 'set', 'lo', 'up'], { encoding: 'utf8' })
  if (up.status !== 0) throw new Error(`"ip link set lo up" failed: ${up.stderr}`)

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
    console.error(`"${command}" could not be started: ${error.message}`)
    process.exit(127)
  })
  builder.once('exit', (code) => process.exit(code ?? 1))
}

function join(near: Socket, far: Socket): void {
  // What one side sent before it ended still gets to the other.
  near.on('error', () => near.destroy()).on('close', () => far.destroySoon())
  far.on('error', () => far.destroy()).on('close', () => near.destroySoon())
  near.pipe(far).pipe(near)
}

async function listen(server: Server, host: string, port: number): Promise<void> {
  server.listen(port, host)
  await once(server, 'listening')
}
