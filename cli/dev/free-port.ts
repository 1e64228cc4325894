import { CommandError } from '../../base/terminal/command.ts'
import { listenOnce } from '../listen-once.ts'

/** Where `dev` listens: nobody else on the network gets to a solution that is being worked on. */
export const DEV_HOST = '127.0.0.1'

/** So many ports above the wanted one are tried. */
const TRIES = 50

/**
 * The wanted port, or the next one that is free. @param wanted 0: any free one. @param isTaken ports that will be in use
 * @throws CommandError where none is, or the system does not give it
 */
export async function freePort(wanted: number, isTaken: (port: number) => boolean = () => false): Promise<number> {
  if (wanted === 0) return 0
  for (let port = wanted; port < Math.min(wanted + TRIES, 65_536); port++) {
    if (!isTaken(port) && (await isFree(port))) return port
  }
  throw new CommandError(
    'failed',
    `None of the ports ${wanted} to ${wanted + TRIES - 1} is free; --port names another.`,
  )
}

/** @throws CommandError for a port that this account may not use */
export async function isFree(port: number): Promise<boolean> {
  const problem = await listenOnce(DEV_HOST, port)
  if (problem === null || problem === 'EADDRINUSE') return problem === null
  throw new CommandError('failed', `Port ${port} cannot be used (${problem}). --port names another.`)
}
