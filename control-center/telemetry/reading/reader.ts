import { Worker } from 'node:worker_threads'
import { PlatformError } from '../../../runtime/errors.ts'
import { createFairQueue } from '../fair-queue.ts'
import type { Owner } from '../shares.ts'
import type { PackedBody, ReadBody } from './read-body.ts'
import type { ThreadAnswer } from './read-thread.ts'

/**
 * Reads bodies in a separate thread. A compressed body of 20 kB can take seconds to read, which would block the main
 * thread. The next body belongs to the environment that has used the thread least.
 */
export interface BodyReader {
  /** @throws ERR_BAD_REQUEST, ERR_BODY_TOO_LARGE, or ERR_TELEMETRY_BUSY while stopping */
  read(owner: Owner, body: PackedBody): Promise<ReadBody>
  stop(): Promise<void>
}

/**
 * Timeout in ms, far longer than the largest body takes to read. When it expires, the thread is terminated, and the
 * next body is read in a new thread.
 */
const DEADLINE = 60_000
/** Maximum heap of the thread, in MiB. The size of an unpacked body has separate limits. */
const MEMORY = 768

type Waiting = {
  readonly owner: Owner
  readonly body: PackedBody
  readonly resolve: (read: ReadBody) => void
  readonly reject: (error: Error) => void
}

export function createBodyReader(deadline: number = DEADLINE): BodyReader {
  const waiting = createFairQueue<Waiting>()
  let thread: Worker | null = null
  let isBusy = false

  function startThread(): Worker {
    const started = new Worker(new URL('read-thread.ts', import.meta.url), {
      name: 'telemetry bodies',
      resourceLimits: { maxOldGenerationSizeMb: MEMORY },
    })
    // Keep the listener between two bodies, because an error without a listener would terminate the process.
    started.on('error', () => {})
    started.once('exit', () => {
      if (thread === started) thread = null
    })
    return started
  }

  async function ask(body: PackedBody): Promise<ReadBody> {
    thread ??= startThread()
    const asked = thread
    const { promise, resolve, reject } = Promise.withResolvers<ReadBody>()
    const heard = (answer: ThreadAnswer) => {
      if ('read' in answer) resolve(answer.read)
      else if ('refusal' in answer) reject(new PlatformError(answer.refusal.code, answer.refusal.message))
      else reject(new Error(answer.failure))
    }
    // The body exceeded the thread's memory or time limit. A retry with the same body would fail in the same way.
    const ended = () =>
      reject(
        new PlatformError(
          'ERR_BODY_TOO_LARGE',
          'The control center could not process the request body within its time and memory limits. Send less data per request.',
        ),
      )
    const timer = setTimeout(() => {
      if (thread === asked) thread = null
      void asked.terminate()
      ended()
    }, deadline)
    asked.on('message', heard).on('exit', ended)
    asked.postMessage(body)
    return await promise.finally(() => {
      clearTimeout(timer)
      asked.off('message', heard).off('exit', ended)
    })
  }

  async function work(): Promise<void> {
    if (isBusy) return
    isBusy = true
    for (let one = waiting.next(); one !== null; one = waiting.next()) {
      const start = performance.now()
      await ask(one.body).then(one.resolve, one.reject)
      waiting.used(one.owner, performance.now() - start)
    }
    isBusy = false
  }

  return {
    read(owner, body) {
      return new Promise((resolve, reject) => {
        waiting.add({ owner, body, resolve, reject })
        void work()
      })
    },
    async stop() {
      for (const { reject } of waiting.clear())
        reject(new PlatformError('ERR_TELEMETRY_BUSY', 'The control center is stopping. Try again in a moment.'))
      await thread?.terminate()
    },
  }
}
