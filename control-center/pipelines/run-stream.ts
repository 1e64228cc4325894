import type { Context } from 'koa'
import { answerEvents } from '../../base/http/event-stream.ts'
import type { Followers } from '../../base/http/followers.ts'
import type { Access } from '../access/access.ts'
import type { Run } from './run-rows.ts'
import type { Runs } from './runs.ts'

/**
 * Streams a run's log and progress as events `{line}` or `{run}`, until the run ends. A line's number is its event id,
 * so that a client that reconnects (`Last-Event-ID`) gets only the lines it missed.
 *
 * @param who the name of the person or token
 * @throws the errors of `Followers.enter`
 */
export function followRun(
  ctx: Context,
  run: Run,
  who: string,
  { runs, access, followers }: { readonly runs: Runs; readonly access: Access; readonly followers: Followers },
): Promise<void> {
  const after = Math.min(Number(/^\d{1,9}$/.exec(ctx.get('Last-Event-ID'))?.[0] ?? 0), Number.MAX_SAFE_INTEGER)
  return answerEvents(ctx, {
    greeting: 'the log of the run',
    isStillIn: () => access.stillHas(ctx, 'read'),
    async begin({ send, end }) {
      const leave = followers.enter({ who, logs: [run.id], nameOf: () => `run ${run.number}`, end })
      try {
        const unfollow = await runs.follow(
          run,
          after,
          (event) => send(event, 'line' in event ? event.line.number : undefined),
          end,
        )
        return () => {
          unfollow()
          leave()
        }
      } catch (error) {
        leave()
        throw error
      }
    },
  })
}
