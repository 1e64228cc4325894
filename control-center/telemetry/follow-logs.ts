import { PassThrough } from 'node:stream'
import type { Context } from 'koa'
import type { Follower } from './followers.ts'
import type { LogFilter, StoredLine } from './log-store.ts'
import type { Telemetry } from './telemetry.ts'

/** A reader that does not read is cut off at so many bytes. */
const MOST_UNREAD = 1024 * 1024
/** Says that the connection is there, and looks whether the reader may still read, in ms. */
const KEEP_ALIVE = 15_000
/** Lines are looked for at most this often, in ms. */
const AT_MOST = 300
/** Lines of one look; further ones come with the next. */
const LINES = 500

/**
 * Server-sent events: one `data` line of JSON for each new line, until the reader goes away or may not read any more, or the
 * control center stops.
 * @param isStillIn whether who asked may still read
 * @throws as `Followers.enter`
 */
export async function followLogs(
  ctx: Context,
  { logs, onNews, followers }: Pick<Telemetry, 'logs' | 'onNews' | 'followers'>,
  { who, nameOf }: Pick<Follower, 'who' | 'nameOf'>,
  filter: LogFilter,
  shown: (line: StoredLine) => object,
  isStillIn: () => Promise<boolean>,
): Promise<void> {
  const stream = new PassThrough()
  let after = await logs.last()
  let isLooking = false
  let isNews = false
  let timer: NodeJS.Timeout | null = null

  /** All that came, in its order. */
  async function look(): Promise<void> {
    isNews = false
    const last = await logs.last()
    for (let from = after; from < last; ) {
      const until = Math.min(last, from + LINES)
      const lines = await logs.read(filter, { limit: LINES, after: from, before: until + 1 })
      for (const line of lines.toReversed()) send(shown(line))
      from = until
      after = until
      if (!stream.writable) return
    }
  }

  function send(line: object): void {
    if (!stream.writable) return
    if (stream.writableLength > MOST_UNREAD) stream.destroy()
    else stream.write(`data: ${JSON.stringify(line)}\n\n`)
  }

  async function run(): Promise<void> {
    if (isLooking) return
    isLooking = true
    await look().catch(end)
    isLooking = false
    if (isNews) later()
  }

  function later(): void {
    isNews = true
    timer ??= setTimeout(() => {
      timer = null
      void run()
    }, AT_MOST)
  }

  const leave = followers.enter({ who, nameOf, environments: filter.environments, end })
  const stop = onNews(later)
  const keepAlive = setInterval(async () => {
    // While the database is away nobody is sent off for it.
    const isIn = await isStillIn().catch(() => true)
    if (!stream.writable) return
    if (isIn) stream.write(': still here\n\n')
    else end()
  }, KEEP_ALIVE)

  function end(): void {
    leave()
    stop()
    clearInterval(keepAlive)
    if (timer !== null) clearTimeout(timer)
    stream.end()
  }

  ctx.req.on('close', end)
  ctx.req.socket.setTimeout(0)
  ctx.status = 200
  ctx.type = 'text/event-stream'
  // The connection is nothing else's afterwards: a stop of the control center waits for those that are open.
  if (ctx.req.httpVersionMajor === 1) ctx.set('Connection', 'close')
  ctx.body = stream
  stream.write(': the log from now on\n\n')
  // Gone while the last line was asked for.
  if (ctx.req.closed) end()
}
