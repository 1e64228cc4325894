import { expect, test } from 'vitest'
import { findingsOf, telemetryFindings } from '../../../host/health/pages.ts'

const WELL = {
  database: { kind: 'embedded', ok: true, latency: 0.3 },
  quarantined: [],
  pausedJobs: [],
  memory: { host: 100, processes: 700, maximum: 1000, configured: 1000, groupLimit: null, used: 899 },
} as const

test('health: a healthy host has no findings', () => {
  expect(findingsOf(WELL, false)).toEqual([])
})

test('health: every problem is reported, with a link where there is one', () => {
  const report = {
    database: { kind: 'alpha', ok: false, latency: null },
    quarantined: [{ solution: 'crm', retryAt: 1 }],
    pausedJobs: ['crm', 'orders'],
    memory: { host: 100, processes: 750, maximum: 1000, configured: 1000, groupLimit: null, used: 950 },
  } as const
  expect(findingsOf(report, true)).toEqual([
    { key: 'database', values: [] },
    { key: 'maintenance', values: [], href: '/admin/maintenance' },
    { key: 'quarantined', values: ['crm'], href: '/admin/solutions/crm' },
    { key: 'jobs-paused', values: ['crm, orders'], href: '/admin/solutions' },
    { key: 'memory', values: [95] },
  ])
})

test('health: paused jobs of a single solution are reported with a link to them', () => {
  const [finding] = findingsOf({ ...WELL, pausedJobs: ['orders'] }, false)
  expect(finding).toEqual({ key: 'jobs-paused', values: ['orders'], href: '/admin/solutions/orders/jobs' })
})

test('health: if the database could not be read, no solution is reported as paused', () => {
  expect(findingsOf({ ...WELL, quarantined: null, pausedJobs: null }, false)).toEqual([])
})

test('health: a RUNTIME_XMX above the container’s limit is reported with both values and the effective one', () => {
  const memory = {
    host: 0,
    processes: 0,
    configured: 3 * 1024 ** 3,
    groupLimit: 512 * 1024 ** 2,
    maximum: 480 * 1024 ** 2,
    used: 0,
  }
  expect(findingsOf({ ...WELL, memory }, false)).toEqual([{ key: 'memory.group', values: [3072, 512, 480] }])
})

const SENT = { state: 'ok', correct: null, waiting: 0, dropped: 0, droppedAt: null } as const
const HOUR = 60 * 60_000

test('health: if telemetry is rejected, the finding says which property to correct', () => {
  const barred = { ...SENT, state: 'barred', correct: 'REMOTE_ENVIRONMENT_TOKEN' } as const
  const elsewhere = { ...barred, signal: 'traces', correct: 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT' } as const
  expect(telemetryFindings([{ ...barred, signal: 'metrics' }, { ...barred, signal: 'logs' }, elsewhere])).toEqual([
    { key: 'telemetry.barred', values: ['metrics, logs', 'REMOTE_ENVIRONMENT_TOKEN'] },
    { key: 'telemetry.barred', values: ['traces', 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'] },
  ])
})

test('health: dropped telemetry is reported for an hour after the last drop', () => {
  const dropping = { ...SENT, signal: 'logs', dropped: 7, droppedAt: 1000 } as const
  const told = [{ key: 'telemetry.dropped', values: ['logs', 7] }]
  expect(telemetryFindings([{ ...SENT, signal: 'metrics' }, dropping], 1000 + HOUR - 1)).toEqual(told)
  expect(telemetryFindings([dropping], 1000 + HOUR)).toEqual([])
})
