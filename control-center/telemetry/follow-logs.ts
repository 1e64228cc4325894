import type { Context } from 'koa'
import { answerEvents, type EventSink } from '../../base/http/event-stream.ts'
import type { Follower } from '../../base/http/followers.ts'
import type { LogFilter, StoredLine } from './log-store.ts'
import type { Telemetry } from './telemetry.ts'

/** Minimum interval between two queries for new lines, in ms. */
const AT_MOST = 300
/** Maximum lines per query. More lines are read with further queries. */
const LINES = 500

/**
 * Sends an event for each new line. Stops when the client disconnects or loses read permission, or when the control
 * center stops.
 * @param isStillIn whether the client may still read
 * @throws the errors of `Followers.enter`
 */
export function followLogs(
  ctx: Context,
  { logs, onNews, followers }: Pick<Telemetry, 'logs' | 'onNews' | 'followers'>,
  { who, nameOf }: Pick<Follower, 'who' | 'nameOf'>,
  filter: LogFilter,
  shown: (line: StoredLine) => object,
  isStillIn: () => Promise<boolean>,
): Promise<void> {
  return answerEvents(ctx, { greeting: 'new log lines follow', isStillIn, begin })

  async function begin({ send, end }: EventSink): Promise<() => void> {
    let after = await logs.last()
    let isOver = false
    let isLooking = false
    let hasNewLines = false
    let timer: NodeJS.Timeout | null = null

    /** Sends all new lines in order. */
    async function look(): Promise<void> {
      hasNewLines = false
      const last = await logs.last()
      for (let from = after; from < last; ) {
        const until = Math.min(last, from + LINES)
        const lines = await logs.read(filter, { limit: LINES, after: from, before: until + 1 })
        for (const line of lines.toReversed()) send(shown(line))
        from = until
        after = until
        if (isOver) return
      }
    }

    async function run(): Promise<void> {
      if (isLooking) return
      isLooking = true
      await look().catch(end)
      isLooking = false
      if (hasNewLines) later()
    }

    function later(): void {
      hasNewLines = true
      if (isOver) return
      timer ??= setTimeout(() => {
        timer = null
        void run()
      }, AT_MOST)
    }

    const leave = followers.enter({ who, nameOf, logs: filter.environments, end })
    const stop = onNews(later)
    return () => {
      isOver = true
      leave()
      stop()
      if (timer !== null) clearTimeout(timer)
    }
  }
}
