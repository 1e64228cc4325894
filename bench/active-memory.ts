import { setTimeout as pause } from 'node:timers/promises'
import { proportionalSize } from '../runtime/process-memory.ts'
import { createScriptLab } from '../test/support/solutions.ts'
import { HOOK, labLogin } from './login.ts'
import type { Row } from './report.ts'
import { median } from './rounds.ts'

/** Number of logins per solution. It is high enough for the heaps to grow and be garbage collected. */
const LOGINS = 100
/** Pause between logins in ms. Without a pause, a solution would get a second process. */
const BETWEEN = 3

/** Measures the memory (PSS) of the sandbox processes while five solutions are in use. */
export async function measureActiveMemory(): Promise<Row[]> {
  const lab = createScriptLab()
  for (let one = 0; one < 5; one++) {
    for (let login = 0; login < LOGINS; login++) {
      await labLogin(lab, `${HOOK}\n// ${one}`)
      await pause(BETWEEN)
    }
  }
  await pause(1000)
  const active = lab.supervisor.processes().filter(({ key }) => key !== null)
  const sizes = active.map(({ pid }) => proportionalSize(pid) / 1024 ** 2)
  lab.stop()
  return [
    {
      work: 'memory (PSS) of an active solution’s sandbox process',
      against: '-',
      reach: { atMost: 32 },
      unit: 'MB',
      measured: median(sizes),
      details: `median of ${sizes.length} processes, each after ${LOGINS} logins`,
    },
  ]
}
