import { PassThrough } from 'node:stream'
import type { Context } from 'koa'
import { repeat } from '../work/repeat.ts'

/** Where the events of a stream go. */
export type EventSink = {
  /** One event: `data` as a line of JSON; `id` is what a reader who comes back names as `Last-Event-ID`. */
  readonly send: (data: object, id?: number) => void
  /** Ends the stream; calling it twice changes nothing. */
  readonly end: () => void
}

export type EventStream = {
  /** A comment, sent first: the reader sees that the stream is there. */
  readonly greeting: string
  /** Whether who asked may still read. A question that fails, as while the database is away, sends nobody off. */
  readonly isStillIn: () => Promise<boolean>
  /**
   * Begins to send. @returns what is called once when the stream is over, however it ended
   * @throws what is answered in place of the stream
   */
  readonly begin: (sink: EventSink) => (() => void) | Promise<() => void>
}

/** A reader that leaves so many bytes unread, beside what it was sent at the beginning, is cut off: it can come back. */
const MOST_UNREAD = 1024 ** 2
/** So often, in ms, a comment keeps proxies from ending a quiet stream, and it is asked whether its reader may still read. */
const KEEP_ALIVE = 15_000

/** Answers with server-sent events (HTML standard, section 9.2) until they are over, the reader goes or may not read any more. */
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

  async function goOn(): Promise<void> {
    const isIn = await isStillIn().catch(() => true)
    if (!stream.writable) return
    if (isIn) stream.write(': still here\n\n')
    else end()
  }

  stream.write(`: ${greeting}\n\n`)
  leave = await begin({ send, end })
  allowed = stream.writableLength + MOST_UNREAD
  ctx.status = 200
  ctx.type = 'text/event-stream'
  ctx.req.socket.setTimeout(0)
  // Nothing else comes over this connection: a server that stops waits for those that are open.
  if (ctx.req.httpVersionMajor === 1) ctx.set('Connection', 'close')
  ctx.body = stream
  // Ended while it began.
  if (isOver) return leave()
  stopAsking = repeat(KEEP_ALIVE, goOn)
  ctx.req.on('close', end)
  if (ctx.req.closed) end()
}

/** Whether the request asks for events rather than for JSON. */
export function wantsEvents(ctx: Context): boolean {
  return ctx.accepts('application/json', 'text/event-stream') === 'text/event-stream'
}
