import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { mixedCalls, mixedCallsLab, servingPid } from '../support/mixed-calls.ts'
import { openFiles, ownMemory } from './processes.ts'
import type { Rows } from './report.ts'

const CALLS = Number(process.env.LONG_CALLS ?? 10_000)
const WARM_UP = CALLS / 5
const LOOK_EVERY = CALLS / 200
/** How much the minimum memory use may rise, in MB. A leaked context retains 0.23 MB. */
const NOISE = 5

/**
 * Makes many calls of all kinds in one sandbox process. Afterwards, the process and the host must not use more memory
 * than after a warm-up. Compares the minimums of the two halves of the run after the warm-up, since a heap grows until
 * garbage is collected.
 */
export async function growth(rows: Rows): Promise<void> {
  setFlagsFromString('--expose-gc')
  const collectGarbage = runInNewContext('gc') as () => void
  const lab = mixedCallsLab()
  try {
    await mixedCalls(lab, WARM_UP)
    const pid = servingPid(lab)
    const handles = process.getActiveResourcesInfo().length
    const files = openFiles(process.pid) + openFiles(pid)
    const sandbox: number[] = []
    const host: number[] = []
    for (let done = WARM_UP; done < CALLS; done += LOOK_EVERY) {
      await mixedCalls(lab, LOOK_EVERY)
      sandbox.push(ownMemory(pid))
      collectGarbage()
      host.push(process.memoryUsage().heapUsed / 1024 ** 2)
    }
    const serving = lab.supervisor.processes().filter(({ key }) => key !== null)
    rows.tell('calls, of them after the warm-up', `${CALLS}, ${CALLS - WARM_UP}`)
    rows.atMost('sandbox processes that served them', 1, serving.length)
    rows.atMost('processes that took the place of the first', 0, serving.filter((one) => one.pid !== pid).length)
    rows.tell('own memory of the sandbox process, first half, floor, MB', halves(sandbox).first)
    rows.tell('the same, most, MB', Math.max(...sandbox))
    rows.atMost('the same, second half, floor, more, MB', NOISE, halves(sandbox).more)
    rows.tell('heap of the host part without garbage, first half, floor, MB', halves(host).first)
    rows.atMost('the same, second half, floor, more, MB', NOISE, halves(host).more)
    rows.atMost('active handles of the host part, more', 3, process.getActiveResourcesInfo().length - handles)
    rows.atMost('open files of both, more', 3, openFiles(process.pid) + openFiles(pid) - files)
  } finally {
    lab.stop()
  }
}

function halves(values: readonly number[]): { readonly first: number; readonly more: number } {
  const middle = Math.floor(values.length / 2)
  const first = Math.min(...values.slice(0, middle))
  return { first, more: Math.min(...values.slice(middle)) - first }
}
