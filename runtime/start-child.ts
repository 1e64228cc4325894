import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Duplex } from 'node:stream'

/** No process was started: the system is out of descriptors, processes or memory, or the program does not exist. */
export type NotStarted = { readonly failure: Promise<Error> }

/**
 * Starts a process. Never throws. Node's `spawn` throws for some errors (ENOMEM). For others (EMFILE, EAGAIN, ENOENT),
 * it returns a child without a pid, and sometimes without `stdio`. That child emits the error later.
 */
export function startChild(
  file: string,
  args: readonly string[],
  options: SpawnOptions,
): { readonly child: ChildProcess } | NotStarted {
  try {
    const child = spawn(file, args, options)
    if (child.pid !== undefined) return { child }
    const failure = once(child, 'error').then(([error]) => error as Error)
    for (const stream of child.stdio ?? []) stream?.on('error', () => {}).destroy()
    return { failure }
  } catch (error) {
    return { failure: Promise.resolve(error as Error) }
  }
}

/**
 * Like `startChild`, for a process that exchanges frames over descriptor 3.
 * @param args returns the arguments; if it throws, the start fails with its error
 */
export function startChildWithChannel(
  file: string,
  args: () => readonly string[],
  options: Omit<SpawnOptions, 'stdio'>,
): { readonly child: ChildProcess; readonly channel: Duplex } | NotStarted {
  let given: readonly string[]
  try {
    given = args()
  } catch (error) {
    return { failure: Promise.resolve(error as Error) }
  }
  const started = startChild(file, given, { ...options, stdio: ['ignore', 'ignore', 'ignore', 'pipe'] })
  if ('failure' in started) return started
  const { child } = started
  return { child, channel: child.stdio[3] as Duplex }
}
