import { afterEach, expect, test } from 'vitest'
import { builtInPlugins } from '../../../base/bundles/plugins.ts'
import { createSandboxSolutionMaker } from '../../../base/bundles/sandbox-solution.ts'
import { readTrusted } from '../../../base/bundles/trusted.ts'
import { type ClientProcesses, createClientProcesses } from '../../../runtime/client-processes.ts'
import { createLimits } from '../../../runtime/limits.ts'
import type { SandboxClient } from '../../../runtime/sandbox-client.ts'
import { startSandboxProcess } from '../../../runtime/sandbox-process.ts'
import type { Loadable } from '../../../runtime/supervisor.ts'
import { waitUntil } from '../../support/wait-until.ts'

const limits = createLimits()
const plugins = builtInPlugins('none', limits)
const trusted = readTrusted(plugins, createSandboxSolutionMaker(plugins), limits)

const processes: ClientProcesses = createClientProcesses(limits, {
  fillSoon: () => {},
  whenRoom: async () => true,
  async take() {
    const started = startSandboxProcess({ timeZone: 'Etc/UTC', trusted })
    await started.ready
    return started
  },
})
afterEach(() => processes.stop())

function version(key: string): Loadable {
  const scripts = [{ file: 'globals.js', source: '' }]
  const settings = { ...trusted.rehearsal.solution.settings }
  return { key, solution: () => ({ scripts, units: { main: [0] }, settings, tables: {} }) }
}

async function open(key: string): Promise<SandboxClient> {
  const opened = await processes.open(version(key), { log: () => {} })
  if ('code' in opened) throw new Error(opened.message)
  return opened
}

test('clients: to free memory, a process without clients is ended, and one with clients only if it is urgent', async () => {
  const [anna, bram] = [await open('first'), await open('second')]
  expect(processes.makeRoom(false)).toBeNull()
  anna.close()
  const [first, second] = processes.living()
  expect(processes.makeRoom(false)).toBe(first?.pid)
  // The process that is ending is still listed, because it still uses memory. But `makeRoom` must not choose it again.
  expect(processes.living()).toHaveLength(2)
  expect(processes.makeRoom(false)).toBeNull()
  expect(processes.makeRoom(true)).toBe(second?.pid)
  await bram.gone
  expect(processes.makeRoom(true)).toBeNull()
  await waitUntil(() => expect(processes.living()).toEqual([]), { interval: 20 })
  await open('second')
  expect(processes.living()).toHaveLength(1)
})
