import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { builtInPlugins } from '../base/bundles/plugins.ts'
import { createSandboxSolutionMaker } from '../base/bundles/sandbox-solution.ts'
import { readTrusted } from '../base/bundles/trusted.ts'
import { createLimits } from '../runtime/limits.ts'
import type { Trusted } from '../runtime/protocol.ts'
import { BINARY, SANDBOX_FLAGS, startSandboxProcess } from '../runtime/sandbox-process.ts'
import { createScriptLab } from '../test/support/solutions.ts'
import { cpuTimeOf } from './cpu-time.ts'
import { HOOK, labLogin } from './login.ts'
import type { Row } from './report.ts'
import { each, figure, median, ROUNDS } from './rounds.ts'

const BARE = `process.dlopen({ exports: {} }, ${JSON.stringify(BINARY)})
// Not process.stdout, for which Node.js would load node:net.
require('node:fs').writeSync(1, 'ready')
setInterval(() => {}, 1000)`

/**
 * Measures the first login to a solution that no process has loaded, while a spare process is ready. Also measures the
 * start of a sandbox process.
 */
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
      work: 'first sign-in to a cold solution, with a spare process ready',
      against: 'a sign-in to the same solution while it is warm',
      reach: { atMost: 10 },
      unit: 'ms',
      measured: median(cold.map((time, round) => time - (warm[round] ?? 0))),
      details: `${figure(median(cold))} ms : ${figure(median(warm))} ms`,
    },
    await measureStart(),
  ]
}

/** Measures the CPU time until a sandbox process is ready for a solution. */
async function measureStart(): Promise<Row> {
  const limits = createLimits()
  const plugins = builtInPlugins('none', limits)
  const trusted = readTrusted(plugins, createSandboxSolutionMaker(plugins), limits)
  const ours: number[] = []
  const bare: number[] = []
  // The first process creates the snapshot for the others.
  await timeOfSandbox(trusted)
  for (let round = 0; round < ROUNDS; round++) {
    ours.push(await timeOfSandbox(trusted))
    bare.push(await timeOfBare())
  }
  return {
    work: 'CPU time from starting a sandbox process until it is ready',
    against: 'a bare Node.js process with the same flags that loads isolated-vm',
    reach: { atMost: 1.5 },
    unit: 'ratio',
    measured: median(ours) / median(bare),
    details: `${figure(median(ours))} ms : ${figure(median(bare))} ms`,
  }
}

async function timeOfSandbox(trusted: Trusted): Promise<number> {
  const started = startSandboxProcess({ timeZone: 'Etc/UTC', trusted })
  await started.ready
  const time = cpuTimeOf(started.pid)
  started.kill()
  return time
}

async function timeOfBare(): Promise<number> {
  const child = spawn(process.execPath, [...SANDBOX_FLAGS, '-e', BARE], { env: { TZ: 'Etc/UTC' } })
  await once(child.stdout, 'data')
  const time = cpuTimeOf(child.pid ?? 0)
  child.kill('SIGKILL')
  return time
}
