import type { CallEnd } from './call-end.ts'
import type { Client, OpenCall } from './client.ts'
import { type Isolate, type Script, TRUSTED } from './isolate.ts'
import type { IsolateCalls } from './isolate-calls.ts'

/**
 * An interrupted step can leave microtasks, which would run during the next client's step. The sweeper therefore runs
 * them immediately, for at most `SWEEP_TIME` ms. If they take longer, V8 interrupts them and empties the queue. If
 * `SWEEPS` tries fail, all clients of the isolate are lost.
 */
const SWEEP_TIME = 50
const SWEEPS = 3

export type Sweeper = ReturnType<typeof createSweeper>

/** Runs the microtasks that an interrupted step leaves, on behalf of the call that left them. */
export function createSweeper(isolate: Isolate, { watched, end, lose, loseMemory, isLost }: IsolateCalls) {
  /**
   * An empty script. It is compiled in advance, because compiling it later would run the remaining microtasks without a
   * time limit.
   */
  let sweeper: Script | null = null

  return {
    async getReady(): Promise<void> {
      sweeper ??= await isolate.compileScript('void 0', { filename: TRUSTED })
    },
    /** @param overdue returns the result of the call if its isolate can't be stopped */
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
