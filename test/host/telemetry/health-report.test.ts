import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readSettings } from '../../../host/config/settings.ts'
import { openHostDatabase } from '../../../host/database/open.ts'
import type { HostDatabase } from '../../../host/database/tables.ts'
import { createHealth } from '../../../host/health/health-report.ts'
import { createFigures } from '../../../host/telemetry/figures.ts'

const SHA256 = 'a'.repeat(64)
const home = mkdtempSync(join(tmpdir(), 'solhost-health-'))
let db: HostDatabase
beforeAll(async () => {
  db = await openHostDatabase(readSettings({ PLATFORM_HOME: home }))
})
afterAll(async () => {
  await db.destroy()
  rmSync(home, { recursive: true })
})

type Asked = { from: number; to: number; step: number }

function healthOf(clock: { time: number }, database: HostDatabase = db) {
  const asked: Asked[] = []
  const health = createHealth(
    {
      figures: createFigures(() => clock.time),
      supervisor: {
        processes: () => [],
        retryAt: (key) => (key === `sick@${SHA256}` ? 5000 : null),
        memory: () => ({ maximum: 900, configured: 1000, groupLimit: 960, used: 800 }),
      },
      store: {
        list: async () =>
          ['well', 'sick'].map((name) => ({
            name,
            title: name,
            type: 'solution',
            authenticator: 'NONE',
            active: SHA256,
            activeVersion: '1.0.0',
            state: 'active',
            listed: true,
          })),
      },
      audit: {
        countOutcomes: async ({ from, to, step }) => {
          asked.push({ from, to, step })
          return [{ at: from, outcome: 'ok', count: 3 }]
        },
      },
      pauses: { holding: async () => ['nightly'] },
      db: database,
      kind: 'embedded',
      version: '1.2.3',
    },
    () => clock.time,
  )
  return { health, asked }
}

test('health: it reports uptime, paused solutions and jobs, and sign-ins per time step', async () => {
  const clock = { time: 86_400_000_000 }
  const { health, asked } = healthOf(clock)
  clock.time += 65_000
  const { startedAt, uptime, quarantined, pausedJobs, signIns, database, memory } = await health({
    range: 'day',
    hours: 1,
  })
  expect(pausedJobs).toEqual(['nightly'])
  expect([startedAt, uptime, quarantined]).toEqual([86_400_000_000, 65_000, [{ solution: 'sick', retryAt: 5000 }]])
  expect(asked).toEqual([{ from: 86_400_120_000 - 86_400_000, to: 86_400_120_000, step: 60_000 }])
  expect(memory).toMatchObject({ maximum: 900, configured: 1000, groupLimit: 960, used: 800 })
  expect([signIns, database.ok]).toEqual([[{ at: 86_313_720_000, outcome: 'ok', count: 3 }], true])
})

test('health: if the database is unreachable, it says so and reports everything else', async () => {
  const away = await openHostDatabase(readSettings({ PLATFORM_HOME: home }))
  await away.destroy()
  const { database, quarantined, pausedJobs, signIns, series } = await healthOf({ time: 1_000_000 }, away).health({
    range: 'recent',
    hours: 1,
  })
  expect(database).toEqual({ kind: 'embedded', ok: false, latency: null })
  expect([quarantined, pausedJobs, signIns, series.points.length]).toEqual([null, null, null, 720])
})
