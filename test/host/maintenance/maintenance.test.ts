import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ERRORS } from '../../../base/http/errors.ts'
import { openHostDatabase } from '../../../host/database/open.ts'
import type { HostDatabase } from '../../../host/database/tables.ts'
import { createMaintenance } from '../../../host/maintenance/maintenance.ts'
import { PlatformError } from '../../../runtime/errors.ts'

let home: string
let db: HostDatabase
beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'solhost-maintenance-'))
  db = await openHostDatabase(home)
})
afterAll(async () => {
  await db.destroy()
  rmSync(home, { recursive: true })
})

test('maintenance: while it is on, new work is rejected with a Retry-After of one minute', async () => {
  const maintenance = createMaintenance(db)
  await maintenance.refuseNewWork()
  await maintenance.set(true)
  await expect(maintenance.refuseNewWork()).rejects.toMatchObject({
    code: 'ERR_MAINTENANCE',
    details: { retryAfter: 60 },
  })
  expect(ERRORS.ERR_MAINTENANCE.status).toBe(503)
  await maintenance.set(false)
  await maintenance.refuseNewWork()
})

test('maintenance: a change applies on other hosts within a second', async () => {
  let time = 1_000_000
  const here = createMaintenance(db, () => time)
  const there = createMaintenance(db, () => time)
  expect(await there.isOn()).toBe(false)
  await here.set(true)
  time += 1000
  expect(await there.isOn()).toBe(true)
  await here.set(false)
  time += 999
  expect(await there.isOn()).toBe(true)
  time += 1
  expect(await there.isOn()).toBe(false)
})

test('maintenance: while the database is unreachable, the last known state applies', async () => {
  let isAway = false
  const flaky = new Proxy(db, {
    get(target, key) {
      if (isAway && key === 'selectFrom') throw new PlatformError('ERR_DATABASE_UNREACHABLE', 'away')
      const value = Reflect.get(target, key, target) as unknown
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
  let time = 1_000_000
  const maintenance = createMaintenance(flaky, () => time)
  await maintenance.refuseNewWork()
  isAway = true
  time += 10_000
  await maintenance.refuseNewWork()
  await expect(maintenance.isOn()).rejects.toMatchObject({ code: 'ERR_DATABASE_UNREACHABLE' })
})
