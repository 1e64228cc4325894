import { createScriptLab } from '../test/support/solutions.ts'
import type { Row } from './report.ts'
import { figure, median } from './rounds.ts'

/**
 * A hundred listeners, each a separate function as in real solutions. If they shared one function, V8 would inline it
 * into the plain loop. The baseline would then not dispatch events at all.
 */
const LISTENERS = Array.from({ length: 100 }, (_, n) => `(event, a) => a > ${-n}`)

/**
 * Measures an event that is fired to 100 listeners through the binding, compared with a plain JavaScript loop, within
 * one call.
 */
export async function measureEvents(): Promise<Row[]> {
  const lab = createScriptLab({ manifest: { eventTypes: { fired: {} } }, limits: { AUTHENTICATOR_TIME: 60_000 } })
  const script = `function onSolutionOpen() {
    const listeners = [${LISTENERS.join(', ')}]
    for (const listener of listeners) eventsManager.addEventListener('fired', listener)
    const plain = () => { const event = { data: [1] }; let all = true; for (const one of listeners) if (!one(event, 1)) all = false; return all }
    const ours = () => eventsManager.fireEventListeners('fired', null, [1])
    let kept = 0
    const time = (work) => { const start = Date.now(); for (let n = 0; n < 100000; n++) kept += work() ? 1 : 0; return Date.now() - start }
    time(plain); time(ours)
    return JSON.stringify({ plain: time(plain), ours: time(ours), kept })
  }`
  const rounds: { ours: number; plain: number }[] = []
  for (let round = 0; round < 5; round++) {
    const { values, failure } = await lab.run({ script })
    if (failure !== null) throw new Error(`the event script failed in the sandbox: ${failure.message}`)
    rounds.push({ ours: values.ours as number, plain: values.plain as number })
  }
  lab.stop()
  const tenth = (values: readonly number[]) => `${figure(median(values) / 10)} ms`
  return [
    {
      work: 'time to fire 10,000 events with 100 listeners, inside the sandbox',
      against: 'plain JavaScript',
      reach: { atMost: 1.3 },
      unit: 'ratio',
      measured: median(rounds.map(({ ours, plain }) => ours / plain)),
      details: `${tenth(rounds.map(({ ours }) => ours))} : ${tenth(rounds.map(({ plain }) => plain))}`,
    },
  ]
}
