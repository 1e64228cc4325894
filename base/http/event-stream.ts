import { PassThrough } from 'node:stream'
import type { Context } from 'koa'
import { repeat } from '../work/repeat.ts'

export type EventSink = {
  /** Sends `data` as a line of JSON. A reader that reconnects sends `id` as `Last-Event-ID`. */
  readonly send: (data: object, id?: number) => void
  /** Ends the stream. Further calls are no-ops. */
  readonly end: () => void
}

export type EventStream = {
  /** The comment that is sent first. It shows the reader that the stream is open. */
  readonly greeting: string
  /**
   * Checks whether the reader is still authorised. If the check throws, for example because the database is down, the
   * stream continues.
   */
  readonly isStillIn: () => Promise<boolean>
  /**
   * Starts sending. @returns a clean-up function, which is called once when the stream ends
   * @throws an error that is sent instead of the stream
   */
  readonly begin: (sink: EventSink) => (() => void) | Promise<() => void>
}

/**
 * Maximum unread bytes, not counting those sent at the beginning. A reader that exceeds it is disconnected and can
 * reconnect.
 */
const MOST_UNREAD = 1024 ** 2
/**
 * Interval in ms between keep-alive comments. Without them, proxies would close a quiet stream. The authorisation is
 * checked at the same interval.
 */
const KEEP_ALIVE = 15_000

/**
 * Responds with server-sent events (HTML standard, section 9.2) until the stream ends, or the reader disconnects or
 * loses access.
 */
export async function answerEvents(ctx: Context, { greeting, isStillIn, begin }: EventStream): Promise<void> {
  const stream = new PassThrough()
  let allowed = Number.POSITIVE_INFINITY
  let isOver = false
  let stopAsking = async () => {}
  let leave = () => {}

  function send(data: object, id?: number): void {
    if (!stream.writable) return
    if (stream.writableLength > allowed) stream.destroy()
    else stream.write(`${id === undefined ? '' : `id: ${id}\n`}data: ${JSON.stringify(data)}\n\n`)
  }

  function end(): void {
    if (isOver) return
    isOver = true
    void stopAsking()
    leave()
    stream.end()
  }

  async function keepAlive(): Promise<void> {
    const isIn = await isStillIn().catch(() => true)
    if (!stream.writable) return
    if (isIn) stream.write(': keep-alive\n\n')
    else end()
  }

  stream.write(`: ${greeting}\n\n`)
  leave = await begin({ send, end })
  allowed = stream.writableLength + MOST_UNREAD
  ctx.status = 200
  ctx.type = 'text/event-stream'
  ctx.req.socket.setTimeout(0)
  // Close the connection after the stream. Otherwise, a stopping server would wait for the idle connection.
  if (ctx.req.httpVersionMajor === 1) ctx.set('Connection', 'close')
  ctx.body = stream
  // If the stream ended during `begin`, `leave` had no value yet and was not called. Call it now.
  if (isOver) return leave()
  stopAsking = repeat(KEEP_ALIVE, keepAlive)
  ctx.req.on('close', end)
  if (ctx.req.closed) end()
}

/** Whether the request accepts an event stream rather than JSON. */
export function wantsEvents(ctx: Context): boolean {
  return ctx.accepts('application/json', 'text/event-stream') === 'text/event-stream'
}
