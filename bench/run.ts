// Measures what design section 11 asks for, as ratios of one run: rounds of all contestants alternate, medians count.
import { readFileSync, writeFileSync } from 'node:fs'
import { arch, availableParallelism, cpus, platform } from 'node:os'
import { proportionalSize } from '../runtime/process-memory.ts'
import { createScriptLab, type ScriptLab } from '../test/support/solutions.ts'
import { type Contestant, freshContexts, freshIsolates } from './bare-isolate.ts'

type Row = {
  readonly work: string
  readonly against: string
  readonly reach: string
  readonly measured: number | string
}

const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 9)
const LOGINS = 60
const PARAMS = { username: 'anna', password: 'anna-tries-acme', custom_tenant: 'acme' }
const SCRIPT = readFileSync(new URL('login-hook.js', import.meta.url), 'utf8')

const rows: Row[] = []
// isolated-vm needs this flag in the process that holds isolates; here the bare contestants run in this one.
if (!process.execArgv.includes('--no-node-snapshot')) throw new Error('run it by "npm run bench"')

await measureLogins()
await measureMemory()
await measureEvents()
report()

async function measureLogins(): Promise<void> {
  const lab = createScriptLab()
  const bare = freshContexts()
  const isolates = freshIsolates()
  const times = {
    ours: [] as number[],
    paced: [] as number[],
    bare: [] as number[],
    isolates: [] as number[],
    burst: [] as number[],
  }
  const cold: number[] = []
  for (let warm = 0; warm < 50; warm++) {
    await login(lab)
    bare.login(JSON.stringify(PARAMS))
  }
  for (let round = 0; round < ROUNDS; round++) {
    times.ours.push(await each(LOGINS, () => login(lab)))
    times.bare.push(await each(LOGINS, () => bareLogin(bare)))
    times.paced.push(await paced(LOGINS / 2, () => login(lab)))
    times.isolates.push(await each(5, () => bareLogin(isolates)))
    times.burst.push(await burst(LOGINS, () => login(lab)))
    cold.push((await coldLogin(lab, round)) - (await each(1, () => login(lab))))
  }
  bare.end()
  lab.stop()
  const bareTime = median(times.bare)
  row(
    'W1 latency through the sandbox process',
    'bare isolated-vm, fresh context, same process',
    '≤ 1.3',
    median(times.ours) / bareTime,
  )
  row('W1 latency, paced, contexts made ahead', 'the same', '≤ 0.6', median(times.paced) / bareTime)
  row('W1 throughput, 1 to 2 sandbox processes', 'the same', '≥ 1.0', bareTime / median(times.burst))
  row('W1 latency', 'a new isolate per call', '≤ 0.25', median(times.ours) / median(times.isolates))
  row('cold solution to first login, spare waiting', 'its own warm login, ms more', '≤ 10', median(cold))
}

async function measureMemory(): Promise<void> {
  const lab = createScriptLab()
  for (let one = 0; one < 5; one++) await lab.run({ script: `${SCRIPT}\n// ${one}`, queryParams: PARAMS })
  await new Promise((resolve) => setTimeout(resolve, 1000))
  const active = lab.supervisor.processes().filter(({ key }) => key !== null)
  const sizes = active.map(({ pid }) => proportionalSize(pid) / 1024 ** 2)
  row('own memory (PSS) per active solution, MB', '-', '≤ 32', median(sizes))
  lab.stop()
}

/** Inside one call: fires of 100 listeners by the binding, against the same by plain JavaScript; ten times 10,000. */
async function measureEvents(): Promise<void> {
  const lab = createScriptLab({ manifest: { eventTypes: { fired: {} } }, limits: { AUTHENTICATOR_TIME: 60_000 } })
  const script = `function onSolutionOpen() {
    const listener = (event, a) => a > 0
    const listeners = []
    for (let n = 0; n < 100; n++) { eventsManager.addEventListener('fired', listener); listeners.push(listener) }
    const plain = () => { const event = { data: [1] }; let all = true; for (const one of listeners) if (!one(event, 1)) all = false; return all }
    const ours = () => eventsManager.fireEventListeners('fired', null, [1])
    let kept = 0
    const time = (work) => { const start = Date.now(); for (let n = 0; n < 100000; n++) kept += work() ? 1 : 0; return Date.now() - start }
    time(plain); time(ours)
    return JSON.stringify({ plain: time(plain), ours: time(ours), kept })
  }`
  const ratios: number[] = []
  for (let round = 0; round < 5; round++) {
    const { values } = await lab.run({ script })
    ratios.push((values.ours as number) / (values.plain as number))
  }
  lab.stop()
  row('events: 10,000 fires, 100 listeners, inside the sandbox', 'plain JavaScript', '≤ 1.3', median(ratios))
}

async function login(lab: ScriptLab): Promise<void> {
  const { effects } = await lab.run({ script: SCRIPT, queryParams: PARAMS })
  if (effects.login?.username !== 'anna') throw new Error('the login failed')
}

async function bareLogin(contestant: Contestant): Promise<void> {
  if (!contestant.login(JSON.stringify(PARAMS)).includes('Welcome')) throw new Error('the login failed')
}

async function coldLogin(lab: ScriptLab, round: number): Promise<number> {
  await new Promise((resolve) => setTimeout(resolve, 1500))
  return each(1, () => lab.run({ script: `${SCRIPT}\n// cold ${round}`, queryParams: PARAMS }))
}

/** Milliseconds per piece of work, one after the other. */
async function each(count: number, work: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  for (let done = 0; done < count; done++) await work()
  return (performance.now() - start) / count
}

/** The same with pauses between, as logins come: only the work counts. */
async function paced(count: number, work: () => Promise<unknown>): Promise<number> {
  let sum = 0
  for (let done = 0; done < count; done++) {
    await new Promise((resolve) => setTimeout(resolve, 5))
    sum += await each(1, work)
  }
  return sum / count
}

/** Milliseconds per piece of work when eight are always under way. */
async function burst(count: number, work: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  let left = count
  await Promise.all(
    Array.from({ length: 8 }, async () => {
      while (left-- > 0) await work()
    }),
  )
  return (performance.now() - start) / count
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
}

function row(work: string, against: string, reach: string, measured: number): void {
  rows.push({ work, against, reach, measured: Math.round(measured * 100) / 100 })
}

function report(): void {
  const machine = `${availableParallelism()} cores, ${cpus()[0]?.model.trim()}, ${platform()} ${arch()}, Node.js ${process.version}`
  const lines = rows.map((one) => `| ${one.work} | ${one.against} | ${one.reach} | ${one.measured} |`)
  process.stdout.write(`${machine}\n\n| work | against | reach | measured |\n|---|---|---|---|\n${lines.join('\n')}\n`)
  if (process.env.BENCH_JSON) writeFileSync(process.env.BENCH_JSON, `${JSON.stringify({ machine, rows }, null, 2)}\n`)
}
