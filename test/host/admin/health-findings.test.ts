import { expect, test } from 'vitest'
import { findingsOf } from '../../../host/admin/pages/health.ts'

const WELL = {
  database: { kind: 'embedded', ok: true, latency: 0.3 },
  quarantined: [],
  memory: { host: 100, processes: 700, maximum: 1000, configured: 1000, groupLimit: null, used: 899 },
} as const

test('health: nothing is told where all is well', () => {
  expect(findingsOf(WELL, false)).toEqual([])
})

test('health: everything that is not well is told, with the way to it', () => {
  const report = {
    database: { kind: 'alpha', ok: false, latency: null },
    quarantined: [{ solution: 'crm', retryAt: 1 }],
    memory: { host: 100, processes: 750, maximum: 1000, configured: 1000, groupLimit: null, used: 950 },
  } as const
  expect(findingsOf(report, true)).toEqual([
    { key: 'database', values: [] },
    { key: 'maintenance', values: [], href: '/admin/maintenance' },
    { key: 'quarantined', values: ['crm'], href: '/admin/solutions/crm' },
    { key: 'memory', values: [95] },
  ])
})

test('health: solutions that the database did not tell of are none that pause', () => {
  expect(findingsOf({ ...WELL, quarantined: null }, false)).toEqual([])
})

test('health: a RUNTIME_XMX above what the container may hold is told with both and what is in force', () => {
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
