import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { ONE_SPARE } from './one-spare.ts'
import { UNTHROTTLED } from './unthrottled.ts'

const CLI = fileURLToPath(new URL('../../cli/entry.ts', import.meta.url))

/** A young generation of 16 MB saves a fifth of the CPU time that a host needs to start. */
const FLAGS = ['--disable-warning=ExperimentalWarning', '--min-semi-space-size=16']

export type HostProcess = {
  readonly child: ChildProcess
  readonly url: string
  /** Everything that the process has printed so far. */
  readonly output: () => string
  readonly gone: Promise<unknown>
}

/**
 * Starts a host as a separate process, on free ports and without the examples.
 * @param fileWithChannel a script to run in place of the CLI, with an IPC channel
 * @param before a command-line prefix, such as one that runs the host in a cgroup
 */
export async function startHostProcess(
  home: string,
  properties: Record<string, string>,
  fileWithChannel?: string,
  before: readonly string[] = [],
): Promise<HostProcess> {
  const settings = {
    PORT: '0',
    ADMIN_PORT: '0',
    PLATFORM_HOME: home,
    ENVIRONMENT: 'prod',
    ...ONE_SPARE,
    ...UNTHROTTLED,
  }
  const env = { ...process.env, ...settings, ...properties }
  const start = fileWithChannel === undefined ? [CLI, 'start'] : [fileWithChannel]
  const command = [...before, process.execPath, ...FLAGS, ...start]
  const child = spawn(command[0] as string, command.slice(1), {
    env,
    stdio: ['ignore', 'pipe', 'pipe', ...(fileWithChannel === undefined ? [] : (['ipc'] as const))],
  })
  let output = ''
  const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const addressOf = () => /Solhost is running at (https?:\/\/[^/\s]+)/.exec(output)?.[1]
  // Wait for output events. Polling would take CPU time from the starting host.
  const told = new Promise<void>((resolve) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', (chunk) => {
        output += String(chunk)
        if (addressOf() !== undefined) resolve()
      })
    }
  })
  await Promise.race([told, gone])
  const url = addressOf()
  if (url === undefined) throw new Error(`the host did not start: ${output}`)
  return { child, url, output: () => output, gone }
}
