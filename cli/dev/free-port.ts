import { CommandError } from '../../base/terminal/command.ts'
import { listenOnce } from '../listen-once.ts'

/** `dev` listens on loopback only, so that a solution in development is not reachable from the network. */
export const DEV_HOST = '127.0.0.1'

/** The number of ports to try, starting with the requested one. */
const TRIES = 50

const ANOTHER_PORT =
  'Choose another port: set --port for pages, ADMIN_PORT for admin pages, or --inspect-port for the debugger.'

/**
 * Returns the requested port, or the next free one.
 * @param wanted 0 for any free port.
 * @param isTaken ports that are about to be used
 * @throws CommandError if no port is free, or the operating system denies access
 */
export async function freePort(wanted: number, isTaken: (port: number) => boolean = () => false): Promise<number> {
  if (wanted === 0) return 0
  for (let port = wanted; port < Math.min(wanted + TRIES, 65_536); port++) {
    if (!isTaken(port) && (await isFree(port))) return port
  }
  throw new CommandError('failed', `Ports ${wanted} to ${wanted + TRIES - 1} are all in use. ${ANOTHER_PORT}`)
}

/** @throws CommandError if this account may not use the port */
export async function isFree(port: number): Promise<boolean> {
  const problem = await listenOnce(DEV_HOST, port)
  if (problem === null || problem === 'EADDRINUSE') return problem === null
  throw new CommandError('failed', `Cannot use port ${port} (${problem}). ${ANOTHER_PORT}`)
}
