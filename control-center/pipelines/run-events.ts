import { repeat } from '../../base/work/repeat.ts'
import type { CenterDatabase } from '../database/tables.ts'
import { readRunLog } from './run-log.ts'
import type { Run, RunRows } from './run-rows.ts'
import type { RunLine } from './run-states.ts'

export type RunEvent = { readonly line: RunLine } | { readonly run: Pick<Run, 'state' | 'steps'> }

/** Who hears how a run goes. `onEnd` is called once, after the last event. */
export type Follower = { readonly onEvent: (event: RunEvent) => void; readonly onEnd: () => void }

/** So often the database is asked for what another control center's run did, in ms. */
const LOOK_EVERY = 1000

/**
 * Follows a run by what the database has of it: one that has ended, or that another control center performs.
 * @param after the lines after this number
 * @returns what ends it; `onEnd` is not called then
 */
export async function followStored(
  { db, rows }: { readonly db: CenterDatabase; readonly rows: Pick<RunRows, 'find'> },
  run: string,
  after: number,
  { onEvent, onEnd }: Follower,
): Promise<() => void> {
  let last = after
  let told = ''
  let isOver = false
  let stopLooking = async () => {}

  function unfollow(): void {
    isOver = true
    void stopLooking()
  }

  async function look(): Promise<void> {
    // Before the lines: all those of a run that has ended are there.
    const found = await rows.find(run)
    const lines = await readRunLog(db, run, last)
    if (isOver) return
    for (const line of lines) {
      last = line.number
      onEvent({ line })
    }
    const { state, steps } = found ?? { state: null, steps: [] }
    if (state !== null && told !== JSON.stringify([state, steps])) onEvent({ run: { state, steps } })
    told = JSON.stringify([state, steps])
    if (state === 'running') return
    unfollow()
    onEnd()
  }

  await look()
  // The database may be away for a moment: whoever follows waits.
  if (!isOver) stopLooking = repeat(LOOK_EVERY, look, () => {})
  return unfollow
}
