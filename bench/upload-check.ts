import { builtInPlugins } from '../base/bundles/plugins.ts'
import { createSandboxSolutionMaker } from '../base/bundles/sandbox-solution.ts'
import { readTrusted } from '../base/bundles/trusted.ts'
import { createLimits } from '../runtime/limits.ts'
import type { FromSandbox, ToSandbox, Trusted } from '../runtime/protocol.ts'
import { type SandboxProcess, startSandboxProcess } from '../runtime/sandbox-process.ts'
import { cpuTimeOf } from './cpu-time.ts'
import { HOOK } from './login.ts'
import type { Row } from './report.ts'
import { figure, median, ROUNDS } from './rounds.ts'

const SCRIPT = { module: null, file: 'globals.js', source: HOOK }

/**
 * Measures the CPU time of the process that checks an upload with one script of 60 lines, until it has run the script as
 * for a client. The process is not reused, so the time includes its start.
 */
export async function measureUploadCheck(): Promise<Row[]> {
  const limits = createLimits()
  const plugins = builtInPlugins('none', limits)
  const trusted = readTrusted(plugins, createSandboxSolutionMaker(plugins), limits)
  // The first process creates the snapshots for the others.
  await check(trusted)
  const times: (readonly number[])[] = []
  for (let round = 0; round < ROUNDS; round++) times.push(await check(trusted))
  const [ready = 0, checked = 0, probed = 0] = [0, 1, 2].map((step) => median(times.map((one) => one[step] ?? 0)))
  return [
    {
      work: 'CPU time of the sandbox process that checks a small upload',
      against: '-',
      reach: null,
      unit: 'ms',
      measured: probed,
      details: `${figure(ready)} ms until it is ready, ${figure(checked)} ms until it has checked the files`,
    },
  ]
}

/** @returns the CPU time in ms until the process is ready, has checked the files, and has run the script */
async function check(trusted: Trusted): Promise<readonly number[]> {
  const process = startSandboxProcess({ timeZone: 'Etc/UTC', trusted })
  try {
    await process.ready
    const times = [cpuTimeOf(process.pid)]
    const { solution } = trusted.rehearsal
    const none = { formScripts: [], forms: [], i18n: [], loginTemplate: null, media: [], permissions: null }
    const files = { ...none, scripts: [SCRIPT], isolateMemory: trusted.limits.ISOLATE_MEMORY ?? 0 }
    const { checked } = await answerTo(process, { kind: 'check', files }, 'checked')
    times.push(cpuTimeOf(process.pid))
    const { file, source } = SCRIPT
    process.send({ kind: 'load', solution: { ...solution, scripts: [{ file, source }] } })
    const probe = { kind: 'probe', id: 1, unit: 'main', entries: ['onSolutionOpen'] } as const
    const { faults, found } = await answerTo(process, probe, 'probed')
    if (checked.faults.length + faults.length > 0 || found.length !== 1) throw new Error('the check failed')
    times.push(cpuTimeOf(process.pid))
    return times
  } finally {
    process.kill()
  }
}

/** Sends a message. @returns the response of this kind */
function answerTo<Kind extends FromSandbox['kind']>(
  process: SandboxProcess,
  message: ToSandbox,
  kind: Kind,
): Promise<Extract<FromSandbox, { kind: Kind }>> {
  return new Promise((resolve, reject) => {
    process.onEnd = () => reject(new Error('the sandbox process has ended'))
    process.onMessage = (answer) => {
      if (answer.kind === kind) resolve(answer as Extract<FromSandbox, { kind: Kind }>)
    }
    process.send(message)
  })
}
