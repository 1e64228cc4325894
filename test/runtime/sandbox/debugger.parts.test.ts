import { afterEach, expect, test } from 'vitest'
import { builtInPlugins } from '../../../base/bundles/plugins.ts'
import { createSandboxSolutionMaker } from '../../../base/bundles/sandbox-solution.ts'
import { readTrusted } from '../../../base/bundles/trusted.ts'
import { findDebugNode } from '../../../host/debugger/find-debug-node.ts'
import { createLimits } from '../../../runtime/limits.ts'
import type { FromSandbox, SandboxSolution } from '../../../runtime/protocol.ts'
import { type SandboxProcess, startSandboxProcess } from '../../../runtime/sandbox-process.ts'
import { createSupervisor } from '../../../runtime/supervisor.ts'

const limits = createLimits()
const plugins = builtInPlugins('none', limits)
const trusted = readTrusted(plugins, createSandboxSolutionMaker(plugins), limits)
const solution: SandboxSolution = {
  scripts: [{ file: 'globals.js', source: 'function onSolutionOpen() {}' }],
  units: { authenticator: [0] },
  settings: { ...trusted.rehearsal.solution.settings },
  tables: {},
}

let started: SandboxProcess | null = null
afterEach(() => started?.kill())

/** Sends a ping. @returns the kinds of the messages that the process sends before it responds */
async function saidUntilPong(process: SandboxProcess): Promise<readonly string[]> {
  const said: string[] = []
  const { promise, resolve } = Promise.withResolvers<void>()
  process.onMessage = ({ kind }: FromSandbox) => {
    if (kind === 'pong') resolve()
    else said.push(kind)
  }
  process.send({ kind: 'ping' })
  await promise
  return said
}

test('sandbox: a process that was not started for debugging rejects a debug session', async () => {
  started = startSandboxProcess({ timeZone: 'Etc/UTC', trusted })
  await started.ready
  expect(started.debug).toBeNull()
  started.send({ kind: 'load', solution })
  started.send({ kind: 'attach', session: 1, unit: 'authenticator' })
  started.send({ kind: 'inspect', session: 1, message: '{"id":1,"method":"Debugger.enable"}' })
  expect(await saidUntilPong(started)).toEqual(['loaded'])
  expect(started.ended()).toBe(false)
})

test('supervisor: there is no process to attach to if debugNode is not set', () => {
  const supervisor = createSupervisor({ limits, trusted, timeZone: 'Etc/UTC' })
  expect(supervisor.debug).toBeNull()
  supervisor.stop()
})

test('sandbox: debug sessions end with their process', async () => {
  const found = await findDebugNode(undefined)
  if ('problem' in found) throw new Error(found.problem)
  const process = startSandboxProcess({ timeZone: 'Etc/UTC', trusted, debugNode: found.node })
  started = process
  await process.ready
  process.send({ kind: 'load', solution, debug: true })
  const answered = Promise.withResolvers<string>()
  const ended = Promise.withResolvers<void>()
  const session = process.debug?.open('authenticator', { message: answered.resolve, ended: ended.resolve })
  session?.send('{"id":1,"method":"Runtime.getIsolateId"}')
  expect(JSON.parse(await answered.promise)).toEqual({ id: 1, result: { id: expect.any(String) } })
  expect(process.debug?.count()).toBe(1)
  process.kill()
  await ended.promise
  expect(process.debug?.count()).toBe(0)
})
