import { networkOf } from '../../base/http/network.ts'
import type { NewLogLine, SolutionLog } from '../solutions/solution-log.ts'

/**
 * Writes a line that anybody can cause who knows an address of the solution, signed in or not: of each solution and network
 * so many in a minute, so that nobody fills the log and pushes out what the author needs.
 */
export type AnonymousLines = (solution: string, address: string, line: NewLogLine) => void

const MOST = 100
const IN = 60_000
/** Networks that are counted; beyond that all begin anew. */
const MOST_COUNTED = 10_000

/** @param now the clock, in epoch milliseconds */
export function createAnonymousLines(log: Pick<SolutionLog, 'write'>, now: () => number = Date.now): AnonymousLines {
  const counted = new Map<string, { left: number; readonly until: number }>()
  return (solution, address, line) => {
    const key = JSON.stringify([solution, networkOf(address)])
    let count = counted.get(key)
    if (count === undefined || count.until <= now()) {
      if (counted.size >= MOST_COUNTED) counted.clear()
      count = { left: MOST, until: now() + IN }
      counted.set(key, count)
    }
    count.left--
    if (count.left > 0) log.write(solution, line)
    else if (count.left === 0) {
      log.write(solution, {
        level: 'warn',
        message: `further lines of ${networkOf(address)} are left out for a minute`,
      })
    }
  }
}
