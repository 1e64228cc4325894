import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import type { Signal } from '../../base/config/telemetry-settings.ts'
import { readCenterSettings } from '../../control-center/config/settings.ts'
import type { Environment } from '../../control-center/environments/environments.ts'
import type { Message } from '../../control-center/telemetry/otlp/messages.ts'
import { readItems } from '../../control-center/telemetry/reading/read-body.ts'
import { openTelemetry, type Telemetry } from '../../control-center/telemetry/telemetry.ts'

export type TestTelemetry = Telemetry & {
  /** The simulated clock, in epoch ms. It changes only when a test sets it. */
  time: number
  /** The ids of all environments. */
  readonly environments: string[]
  /** Stores telemetry from an environment. */
  readonly tell: (environment: string, signal: Signal, request: Message) => Promise<{ rejected: number; why: string }>
}

/** Runs only the telemetry part of a control center. Its data is in a separate folder or on a database server. */
export async function openTestTelemetry(properties: Record<string, string> = {}): Promise<TestTelemetry> {
  const home = mkdtempSync(join(tmpdir(), 'telemetry-test-'))
  const settings = readCenterSettings({ PLATFORM_HOME: home, ...properties })
  const environments: string[] = []
  let number = 0
  const telemetry = await openTelemetry({
    where: settings,
    settings: settings.telemetry,
    queue: settings.limits.TELEMETRY_QUEUE,
    log: pino({ level: 'silent' }),
    originOf: async ({ name }) => ({ organisation: 'acme', environment: name }),
    environments: async () => environments,
    now: () => test.time,
  })
  const test: TestTelemetry = {
    ...telemetry,
    time: Date.UTC(2026, 10, 1, 12),
    environments,
    tell(id, signal, request) {
      if (!environments.includes(id)) environments.push(id)
      const environment: Environment = { id, organisation: 'o', name: id, type: 'onprem', createdAt: 0 }
      const read = readItems(signal, request, id, test.time)
      return telemetry.take(environment, { ...read, hash: String(++number), size: 1000, forward: null })
    },
    async stop() {
      await telemetry.stop()
      rmSync(home, { recursive: true, force: true })
    },
  }
  return test
}
