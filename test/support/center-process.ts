import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { fileURLToPath } from 'node:url'
import { PATIENCE } from './patience.ts'

/**
 * A control center in a separate process. After it is killed or stopped, it can be restarted with the same data and
 * port.
 */
export type CenterProcess = {
  readonly url: string
  readonly pid: () => number
  /** Returns everything that the process has printed. */
  readonly output: () => string
  /** Kills the process to simulate a crash. Resolves when the process has exited. */
  readonly kill: () => Promise<void>
  readonly start: () => Promise<void>
  readonly stop: () => Promise<void>
}

const START = fileURLToPath(new URL('../../control-center/start.ts', import.meta.url))

export async function startCenterProcess(
  home: string,
  properties: Record<string, string> = {},
): Promise<CenterProcess> {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  let child: ChildProcess
  let output = ''

  async function start(): Promise<void> {
    child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', START], {
      env: { PATH: process.env.PATH, PORT: String(port), PLATFORM_HOME: home, ...properties },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const from = output.length
    for (const stream of [child.stdout, child.stderr])
      stream?.on('data', (chunk: Buffer) => (output += chunk.toString()))
    const until = Date.now() + PATIENCE
    while (!output.slice(from).includes('The control center is running at')) {
      if (child.exitCode !== null || Date.now() > until)
        throw new Error(`the control center does not start: ${output.slice(from)}`)
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }

  async function end(signal: NodeJS.Signals): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return
    const gone = once(child, 'exit')
    child.kill(signal)
    await gone
  }

  await start()
  return {
    url,
    pid: () => child.pid ?? 0,
    output: () => output,
    start,
    kill: () => end('SIGKILL'),
    stop: () => end('SIGTERM'),
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return port
}
