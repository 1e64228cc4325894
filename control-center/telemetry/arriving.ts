import type { IncomingMessage } from 'node:http'
import type { Context } from 'koa'
import { endedEarly, needType } from '../../base/http/read-body.ts'
import { repeat } from '../../base/work/repeat.ts'
import { PlatformError } from '../../runtime/errors.ts'
import type { Owner, Shares } from './shares.ts'

/**
 * Reads request bodies. Senders may be slow, so the limits apply to the bytes received so far, not to the announced
 * length.
 */
export interface Arriving {
  /**
   * Calls `work` with a body. Each byte counts towards the sender's share from its arrival until `work` is done.
   * @throws ERR_CONTENT_TYPE, ERR_BODY_TOO_LARGE, ERR_BODY_SLOW; ERR_BAD_REQUEST for an incomplete body; the errors of
   * `Shares`
   */
  read<T>(ctx: Context, owner: Owner, work: (body: Buffer) => Promise<T>): Promise<T>
}

export type ArrivingParts = {
  readonly shares: Shares
  readonly types: readonly string[]
  /** Maximum size of one body, in bytes. */
  readonly most: number
  /** Minimum average rate in bytes per second, enforced after `grace` ms. */
  readonly rate: number
  readonly grace: number
}

/** Initial size of the buffer in bytes; it doubles when it is full. */
const FIRST = 16 * 1024

export function createArriving({ shares, types, most, rate, grace }: ArrivingParts): Arriving {
  const tooLarge = () =>
    new PlatformError(
      'ERR_BODY_TOO_LARGE',
      `The request body is larger than ${most} bytes. Send less data per request.`,
    )
  const tooSlow = () =>
    new PlatformError(
      'ERR_BODY_SLOW',
      `The request body arrived too slowly. Send at least ${rate} bytes per second, or send smaller bodies.`,
    )

  /** Use a single buffer. A list of chunks as small as one byte would take many times the memory. */
  function createHeld(owner: Owner) {
    let memory = Buffer.alloc(0)
    let size = 0
    return {
      size: () => size,
      body: () => memory.subarray(0, size),
      add(bytes: Buffer) {
        if (size + bytes.length > most) throw tooLarge()
        if (size + bytes.length > memory.length) grow(size + bytes.length)
        memory.set(bytes, size)
        size += bytes.length
      },
      free: () => shares.count(owner, -memory.length),
    }

    function grow(least: number): void {
      const length = Math.min(most, Math.max(FIRST, 2 * memory.length, least))
      shares.need(owner, length - memory.length)
      shares.count(owner, length - memory.length)
      const larger = Buffer.allocUnsafe(length)
      larger.set(memory.subarray(0, size))
      memory = larger
    }
  }

  function receive(req: IncomingMessage, held: ReturnType<typeof createHeld>): Promise<void> {
    const start = Date.now()
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const cut = () => reject(endedEarly())
    const take = (bytes: Buffer) => {
      try {
        held.add(bytes)
      } catch (error) {
        reject(error)
      }
    }
    const stopChecking = repeat(grace / 4, () => {
      const time = Date.now() - start
      if (time >= grace && held.size() < (rate * time) / 1000) reject(tooSlow())
    })
    req.on('data', take).once('end', resolve).once('error', cut).once('close', cut)
    return promise.finally(() => {
      void stopChecking()
      req.off('data', take).off('end', resolve).off('error', cut).off('close', cut)
      // An error without a listener would terminate the process. At this point, nothing else listens for errors.
      req.on('error', () => {})
    })
  }

  return {
    async read(ctx, owner, work) {
      needType(ctx, types)
      if ((ctx.request.length ?? 0) > most) throw tooLarge()
      // If the sender's share is used up, don't read anything.
      shares.need(owner, FIRST)
      const held = createHeld(owner)
      try {
        await receive(ctx.req, held)
        return await work(held.body())
      } finally {
        held.free()
      }
    },
  }
}
