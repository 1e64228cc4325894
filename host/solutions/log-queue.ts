/**
 * The log lines that are not stored yet. If there are too many, the solution whose lines need the most memory loses its
 * newest ones. Other solutions therefore lose no lines because of it.
 */
export interface LogQueue<Line extends QueuedLine> {
  add(line: Line): void
  /** Returns all lines and empties the queue. */
  take(): LogBatch<Line>
  /** Puts lines back that could not be stored. They come before the lines that were added since. */
  putBack(batch: LogBatch<Line>): void
}

/** `size` is the size of the text in bytes. */
export type QueuedLine = { readonly solution: string; readonly size: number }

/** Each solution's lines are in order. `dropped` is the number of dropped lines per solution. */
export type LogBatch<Line> = { readonly lines: readonly Line[]; readonly dropped: ReadonlyMap<string, number> }

/** Maximum number of lines, if they are empty. */
const MOST_LINES = 20_000
/** Maximum size of the lines, in bytes. */
const MOST_BYTES = 32 * 1024 ** 2
/** Counted for each line in addition to its text, in bytes. */
const LINE_SIZE = Math.ceil(MOST_BYTES / MOST_LINES)

export function createLogQueue<Line extends QueuedLine>(): LogQueue<Line> {
  type Own = { readonly solution: string; readonly lines: Line[]; size: number }
  let all = new Map<string, Own>()
  let dropped = new Map<string, number>()
  let total = 0

  function add(line: Line): void {
    const own = all.get(line.solution) ?? { solution: line.solution, lines: [], size: 0 }
    all.set(line.solution, own)
    own.lines.push(line)
    resize(own, line.size + LINE_SIZE)
    while (total > MOST_BYTES) dropOne()
  }

  function resize(own: Own, change: number): void {
    own.size += change
    total += change
  }

  function dropOne(): void {
    const largest = [...all.values()].reduce((one, other) => (other.size > one.size ? other : one))
    const line = largest.lines.pop()
    resize(largest, -((line?.size ?? 0) + LINE_SIZE))
    count(largest.solution, 1)
  }

  function count(solution: string, more: number): void {
    dropped.set(solution, (dropped.get(solution) ?? 0) + more)
  }

  function take(): LogBatch<Line> {
    const batch = { lines: [...all.values()].flatMap(({ lines }) => lines), dropped }
    all = new Map()
    dropped = new Map()
    total = 0
    return batch
  }

  return {
    add,
    take,
    putBack(batch) {
      const newer = take()
      for (const { lines, dropped: lost } of [batch, newer]) {
        for (const line of lines) add(line)
        for (const [solution, number] of lost) count(solution, number)
      }
    },
  }
}
