import type { Context } from 'koa'
import { answerEvents } from '../../base/http/event-stream.ts'
import type { Access } from '../access/access.ts'
import type { Run } from './run-rows.ts'
import type { Runs } from './runs.ts'

/**
 * The log of a run and how it goes, as one event each, `{line}` or `{run}`. Lines have their number as the event's id, so that
 * a reader who comes back (`Last-Event-ID`) gets the others. It ends with the run.
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
