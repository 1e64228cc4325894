import { PassThrough } from 'node:stream'
import type { Context } from 'koa'
import type { Access } from '../access/access.ts'
import type { RunEvent } from './run-events.ts'
import type { Run } from './run-rows.ts'
import type { Runs } from './runs.ts'

/** Bytes that wait for a slow reader. */
const MOST_UNREAD = 2 * 1024 ** 2
/** So often, in ms, a comment line keeps proxies from ending a quiet stream, and it is asked who follows it still. */
const KEEP_ALIVE = 15_000

/**
 * Server-sent events: the log of a run and how it goes, as one `data` line of JSON each, `{line}` or `{run}`. Lines have their
 * number as the event's id, so that a reader who comes back (`Last-Event-ID`) gets the others. It ends with the run.
 */
export async function followRun(ctx: Context, run: Run, runs: Runs, access: Access): Promise<void> {
  const stream = new PassThrough()
  const after = Math.min(Number(/^\d{1,9}$/.exec(ctx.get('Last-Event-ID'))?.[0] ?? 0), Number.MAX_SAFE_INTEGER)
  const send = (event: RunEvent) => {
    const id = 'line' in event ? `id: ${event.line.number}\n` : ''
    // A reader that does not read is cut off; it can come back.
    if (stream.writableLength > MOST_UNREAD) stream.destroy()
    else stream.write(`${id}data: ${JSON.stringify(event)}\n\n`)
  }
  let stop = () => {}
  const keepAlive = setInterval(() => void goOn(), KEEP_ALIVE)
  function end(): void {
    stop()
    clearInterval(keepAlive)
    stream.end()
  }
  async function goOn(): Promise<void> {
    try {
      await access.identify(ctx, async () => {})
      await access.need(ctx, 'read')
      if (stream.writable) stream.write(': still here\n\n')
    } catch {
      end()
    }
  }
  ctx.req.on('close', end)
  ctx.req.socket.setTimeout(0)
  ctx.status = 200
  ctx.type = 'text/event-stream'
  ctx.body = stream
  stream.write(': the log of the run\n\n')
  stop = await runs.follow(run, after, send, end)
  if (ctx.req.closed) end()
}
