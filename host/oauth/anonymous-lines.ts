import { networkOf } from '../../base/http/network.ts'
import type { NewLogLine, SolutionLog } from '../solutions/solution-log.ts'

/**
 * Writes log lines that anyone can trigger without signing in. Each network may trigger at most `MOST` lines per `IN`
 * ms in each solution. Otherwise, an attacker could flood the log and displace other lines.
 */
export type AnonymousLines = (solution: string, address: string, line: NewLogLine) => void

const MOST = 100
const IN = 60_000
/** Maximum number of counters, to limit memory. Above this, all are deleted. */
const MOST_COUNTED = 10_000

/** @param now returns the current time in epoch milliseconds */
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
        message: `further log lines about requests from ${networkOf(address)} are suppressed for a minute`,
      })
    }
  }
}
