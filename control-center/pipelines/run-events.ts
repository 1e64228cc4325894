import { repeat } from '../../base/work/repeat.ts'
import type { CenterDatabase } from '../database/tables.ts'
import { readRunLog } from './run-log.ts'
import type { Run, RunRows } from './run-rows.ts'
import type { RunLine } from './run-states.ts'

export type RunEvent = { readonly line: RunLine } | { readonly run: Pick<Run, 'state' | 'steps'> }

/** A listener for a run's progress. After the last event, `onEnd` is called once. */
export type Follower = { readonly onEvent: (event: RunEvent) => void; readonly onEnd: () => void }

/** Polling interval in ms for runs that other control centers perform. */
const LOOK_EVERY = 1000

/**
 * Follows a run by polling the database. Used for runs that have ended, and for runs that another control center
 * performs.
 * @param after only lines with a higher number are sent
 * @returns a function that stops following, without calling `onEnd`
 */
export async function followStored(
  { db, rows }: { readonly db: CenterDatabase; readonly rows: Pick<RunRows, 'find'> },
  run: string,
  after: number,
  { onEvent, onEnd }: Follower,
): Promise<() => void> {
  let last = after
  let sent = ''
  let isOver = false
  let stopLooking = async () => {}

  function unfollow(): void {
    isOver = true
    void stopLooking()
  }

  async function look(): Promise<void> {
    // Read the state before the lines. If the state shows that the run has ended, all its lines are stored.
    const found = await rows.find(run)
    const lines = await readRunLog(db, run, last)
    if (isOver) return
    for (const line of lines) {
      last = line.number
      onEvent({ line })
    }
    const { state, steps } = found ?? { state: null, steps: [] }
    if (state !== null && sent !== JSON.stringify([state, steps])) onEvent({ run: { state, steps } })
    sent = JSON.stringify([state, steps])
    if (state === 'running') return
    unfollow()
    onEnd()
  }

  await look()
  // Ignore errors, because the database may be temporarily unreachable.
  if (!isOver) stopLooking = repeat(LOOK_EVERY, look, () => {})
  return unfollow
}
