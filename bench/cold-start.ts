import { createScriptLab } from '../test/support/solutions.ts'
import { HOOK, labLogin } from './login.ts'
import type { Row } from './report.ts'
import { each, figure, median, pause, ROUNDS } from './rounds.ts'

/** Measures the first login of a solution that no process has loaded, with a spare process ready. */
export async function measureColdStart(): Promise<Row[]> {
  const lab = createScriptLab()
  const cold: number[] = []
  const warm: number[] = []
  for (let login = 0; login < 50; login++) await labLogin(lab)
  for (let round = 0; round < ROUNDS; round++) {
    // Wait until the host has replaced the spare process that the previous round used.
    await pause(1500)
    cold.push(await each(1, () => labLogin(lab, `${HOOK}\n// cold ${round}`)))
    warm.push(await each(1, () => labLogin(lab)))
  }
  lab.stop()
  return [
    {
      work: 'cold solution to first login, spare waiting',
      against: 'its own warm login',
      reach: { atMost: 10 },
      unit: 'ms',
      measured: median(cold.map((time, round) => time - (warm[round] ?? 0))),
      details: `${figure(median(cold))} ms : ${figure(median(warm))} ms`,
    },
  ]
}
