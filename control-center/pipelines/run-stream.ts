import type { Context } from 'koa'
import { answerEvents } from '../../base/http/event-stream.ts'
import type { Access } from '../access/access.ts'
import type { Run } from './run-rows.ts'
import type { Runs } from './runs.ts'

/**
 * Streams a run's log and progress as events `{line}` or `{run}`, until the run ends. A line's number is its event id,
 * so that a client that reconnects (`Last-Event-ID`) gets only the lines it missed.
 */
export function followRun(ctx: Context, run: Run, runs: Runs, access: Access): Promise<void> {
  const after = Math.min(Number(/^\d{1,9}$/.exec(ctx.get('Last-Event-ID'))?.[0] ?? 0), Number.MAX_SAFE_INTEGER)
  return answerEvents(ctx, {
    greeting: 'the log of the run',
    isStillIn: () => access.stillHas(ctx, 'read'),
    begin: ({ send, end }) =>
      runs.follow(run, after, (event) => send(event, 'line' in event ? event.line.number : undefined), end),
  })
}
