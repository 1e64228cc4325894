import type { Logger } from 'pino'
import type { CenterDatabase } from '../database/tables.ts'
import type { RunLine, RunStep } from './run-states.ts'

/**
 * The log of a run in progress. It is buffered in memory for followers, and written to the database as lines arrive.
 */
export interface RunLog {
  say(step: RunStep, text: string): void
  /** Sends all lines after number `after`, and then each new line. The returned function stops this. */
  follow(after: number, onLine: (line: RunLine) => void): () => void
  /** Resolves when all lines are in the database. */
  flush(): Promise<void>
}

const MOST_LINES = 5000
/** Maximum characters of a line. */
const LONGEST_LINE = 2000
const AT_ONCE = 100

/** @param now returns the current time in epoch milliseconds */
export function createRunLog(
  db: CenterDatabase,
  run: string,
  log: Pick<Logger, 'error'>,
  now: () => number = Date.now,
): RunLog {
  const lines: RunLine[] = []
  const followers = new Set<(line: RunLine) => void>()
  let written = 0
  let writing: Promise<void> | null = null

  async function write(): Promise<void> {
    while (written < lines.length) {
      const next = lines.slice(written, written + AT_ONCE)
      await db
        .insertInto('pipeline_log')
        .values(next.map((line) => ({ run, ...line })))
        .execute()
      written += next.length
    }
  }

  function writeSoon(): void {
    writing ??= write()
      .catch((error: Error) => {
        // If log lines can't be stored, the run continues, because its result is more important.
        written = lines.length
        log.error({ run, message: error.message }, 'a pipeline run’s log lines could not be stored')
      })
      .finally(() => {
        writing = null
        if (written < lines.length) writeSoon()
      })
  }

  return {
    say(step, text) {
      if (lines.length >= MOST_LINES) return
      const isLast = lines.length === MOST_LINES - 1
      const shown = isLast
        ? `(the log has more than ${MOST_LINES} lines; the rest is not stored)`
        : text.slice(0, LONGEST_LINE)
      const line = { number: lines.length + 1, time: now(), step, text: shown }
      lines.push(line)
      for (const follower of followers) follower(line)
      writeSoon()
    },
    follow(after, onLine) {
      for (const line of lines.slice(after)) onLine(line)
      followers.add(onLine)
      return () => void followers.delete(onLine)
    },
    async flush() {
      while (writing !== null) await writing
    },
  }
}

/** Reads the stored lines after number `after`. */
export function readRunLog(db: CenterDatabase, run: string, after: number): Promise<readonly RunLine[]> {
  return db
    .selectFrom('pipeline_log')
    .select(['number', 'time', 'step', 'text'])
    .where('run', '=', run)
    .where('number', '>', after)
    .orderBy('number')
    .execute() as Promise<RunLine[]>
}
