import { builtInPlugins } from '../base/bundles/plugins.ts'
import { createSandboxSolutionMaker } from '../base/bundles/sandbox-solution.ts'
import { readTrusted } from '../base/bundles/trusted.ts'
import { checkUpload } from '../runtime/check-upload.ts'
import { createLimits, type Limits } from '../runtime/limits.ts'
import type { Trusted } from '../runtime/protocol.ts'
import { startSandboxProcess } from '../runtime/sandbox-process.ts'
import { cpuTimeOf } from './cpu-time.ts'
import { HOOK } from './login.ts'
import type { Row } from './report.ts'
import { figure, median, ROUNDS } from './rounds.ts'

const SCRIPT = { module: null, file: 'globals.js', source: HOOK }
const NO_FILES = { formScripts: [], forms: [], i18n: [], loginTemplate: null, media: [], permissions: null }

/**
 * Measures the CPU time of the process that checks an upload with one script of 60 lines, until it has run the script as
 * for a client. The process is not reused, so the time includes its start.
 */
export async function measureUploadCheck(): Promise<Row[]> {
  const limits = createLimits()
  const plugins = builtInPlugins('none', limits)
  const trusted = readTrusted(plugins, createSandboxSolutionMaker(plugins), limits)
  // The first process creates the snapshots for the others.
  await check(trusted, limits)
  const times: (readonly number[])[] = []
  for (let round = 0; round < ROUNDS; round++) times.push(await check(trusted, limits))
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
async function check(trusted: Trusted, limits: Limits): Promise<readonly number[]> {
  const process = startSandboxProcess({ timeZone: 'Etc/UTC', trusted })
  await process.ready
  const times = [cpuTimeOf(process.pid)]
  const { solution } = trusted.rehearsal
  const { file, source } = SCRIPT
  const { faults, found } = await checkUpload(
    process,
    { ...NO_FILES, scripts: [SCRIPT], isolateMemory: limits.ISOLATE_MEMORY },
    async () => {
      times.push(cpuTimeOf(process.pid))
      return { ...solution, scripts: [{ file, source }] }
    },
    [{ unit: 'main', entries: ['onSolutionOpen'] }],
    limits,
  )
  times.push(cpuTimeOf(process.pid))
  process.kill()
  if (faults.length > 0 || found.get('main')?.length !== 1) throw new Error('the check failed')
  return times
}
