import type { CallEnd } from './call-end.ts'
import type { Client, OpenCall } from './client.ts'
import { type Isolate, type Script, TRUSTED } from './isolate.ts'
import type { IsolateCalls } from './isolate-calls.ts'

/**
 * What a step that was cut off left in the queue of microtasks would run in the time of the isolate's next client. So it is run
 * at once, for at most this long, in ms; V8 empties the queue when it interrupts it. A queue that is not empty after so
 * many times is not worth more.
 */
const SWEEP_TIME = 50
const SWEEPS = 3

export type Sweeper = ReturnType<typeof createSweeper>

/** Runs what a step that was cut off left behind, in the time of its own client. */
export function createSweeper(isolate: Isolate, { watched, end, lose, loseMemory, isLost }: IsolateCalls) {
  /** Does nothing. Made in time: to compile it would run, without a limit, what it is there to run with one. */
  let sweeper: Script | null = null

  return {
    async getReady(): Promise<void> {
      sweeper ??= await isolate.compileScript('void 0', { filename: TRUSTED })
    },
    /** @param overdue how the call ends if its isolate cannot be brought to rest */
    async sweep(client: Client, call: OpenCall, overdue: () => CallEnd): Promise<void> {
      if (client.loaded === null || sweeper === null) return
      for (let sweeps = 0; sweeps < SWEEPS && !isLost(); sweeps++) {
        const swept = sweeper.run(client.loaded.context, { timeout: SWEEP_TIME }).then(
          () => true,
          () => false,
        )
        if ((await watched(call, SWEEP_TIME, swept)) === true && !isolate.isDisposed) return
        if (isolate.isDisposed && !isLost()) return loseMemory(call)
      }
      if (isLost()) return
      end(client, call, overdue())
      lose()
    },
  }
}
