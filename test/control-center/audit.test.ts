import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { afterAll, expect, test } from 'vitest'
import { createAudit } from '../../control-center/access/audit.ts'
import { readCenterSettings } from '../../control-center/config/settings.ts'
import { openCenterDatabase } from '../../control-center/migrations/open.ts'

const home = mkdtempSync(join(tmpdir(), 'audit-test-'))
const settings = readCenterSettings({ PLATFORM_HOME: home })
const db = await openCenterDatabase(settings)
const audit = createAudit(db, 1_000_000, () => 1_800_000_000_000)

afterAll(async () => {
  await db.destroy()
  rmSync(home, { recursive: true })
})

const note = (organisation: string, action: string) =>
  audit.record({ organisation, actor: 'user:anna', action, outcome: 'ok', address: '192.0.2.1', correlationId: '' })

test('read: if there is a filter, one response scans 100,000 entries of the organisation and returns a cursor', async () => {
  await note('acme', 'environment-create')
  await note('quiet', 'environment-create')
  await sql`
    WITH RECURSIVE counted(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counted WHERE n < 100000)
    INSERT INTO activity (organisation, time, actor, action, subject, outcome, address, correlation)
    SELECT 'acme', 1800000000000, 'user:anna', 'rollout-create', '', 'ok', '192.0.2.1', '' FROM counted
  `.execute(db)
  const filter = { action: 'environment-create', limit: 10 }
  const first = await audit.read({ organisation: 'acme', ...filter })
  expect([first.items.length, first.next]).toEqual([0, expect.stringMatching(/^\d+$/)])
  const second = await audit.read({ organisation: 'acme', ...filter, before: Number(first.next) })
  expect([second.items.map(({ action }) => action), second.next]).toEqual([['environment-create'], undefined])
  // Entries of other organisations don't count towards the maximum that one call scans. Without a filter, one call
  // finds the newest entries.
  const quiet = await audit.read({ organisation: 'quiet', ...filter })
  expect([quiet.items.length, quiet.next]).toEqual([1, undefined])
  const all = await audit.read({ organisation: 'acme', limit: 10 })
  expect(all.items.map(({ action }) => action)).toEqual(Array(10).fill('rollout-create'))
})
