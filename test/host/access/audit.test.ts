import { setImmediate } from 'node:timers/promises'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { type AuditEntry, type AuditQuery, createAudit } from '../../../host/access/audit.ts'
import { createLimits } from '../../../runtime/limits.ts'
import { usePlace } from '../../base/database/contract.ts'
import { withRowCounts } from '../../support/rows-per-statement.ts'

const place = usePlace('embedded', async () => null)

const throttled = (actor: string, more: Partial<AuditEntry> = {}): AuditEntry => ({
  actor,
  action: 'sign-in',
  solution: 'crm',
  outcome: 'throttled',
  address: '192.0.2.1',
  ...more,
})

test('noteOnce: repeated attempts from one network are recorded once a minute, whatever name they use', async () => {
  let time = 1_000_000
  const audit = createAudit(place.db, createLimits(), () => time)
  for (let count = 0; count < 1000; count++) audit.noteOnce(throttled(`user:name-${count}`))
  audit.noteOnce(throttled('user:anna', { address: '198.51.100.1' }))
  audit.noteOnce(throttled('user:anna', { solution: 'shop' }))
  time += 60_000
  audit.noteOnce(throttled('user:late'))
  const { items } = await audit.read({ limit: 100 })
  expect(items.map(({ actor }) => actor)).toEqual(['user:late', 'user:anna', 'user:anna', 'user:name-0'])
})

test('noteOnce: attempts of actors who have proven their identity are recorded once a minute per actor', async () => {
  const audit = createAudit(place.db, createLimits(), () => 1_000_000)
  for (const name of ['anna', 'ben', 'anna']) audit.noteOnce(throttled(`user:${name}`, { solution: 'proven' }), true)
  audit.noteOnce(throttled('user:carl', { solution: 'proven' }))
  audit.noteOnce(throttled('user:dora', { solution: 'proven' }))
  const { items } = await audit.read({ limit: 100, solution: 'proven' })
  expect(items.map(({ actor }) => actor)).toEqual(['user:carl', 'user:ben', 'user:anna'])
})

test('any number of entries is written completely, and in order', async () => {
  const audit = createAudit(place.db, createLimits())
  for (const count of [1, 2, 3, 127, 128, 300]) {
    const solution = `batch-${count}`
    const actors = Array.from({ length: count }, (_, n) => `user:${n}`)
    for (const actor of actors) audit.note(throttled(actor, { solution, correlationId: actor }))
    const { items } = await audit.read({ limit: 1000, solution })
    expect(items.map(({ actor }) => actor)).toEqual(actors.toReversed())
    expect(items[0]).toMatchObject({ ...throttled(`user:${count - 1}`), solution, correlationId: `user:${count - 1}` })
  }
})

test('an entry with control characters and direction marks is written as one line', async () => {
  const audit = createAudit(place.db, createLimits())
  audit.note(throttled('user:a\r\nadmin ok \u202e\u2028\u0000\ud800'))
  const { items } = await audit.read({ limit: 1 })
  expect(items[0]?.actor).toBe('user:a��admin ok ����')
})

test('read: if the filter is only an action, one response scans 100,000 entries and returns a cursor, unless the filter is limited to a day', async () => {
  const time = 1_800_000_000_000
  const audit = createAudit(place.db, createLimits(), () => time)
  await audit.record({ actor: 'admin', action: 'maintenance', outcome: 'ok', address: '192.0.2.1' })
  await sql`
    WITH RECURSIVE counted(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counted WHERE n < 100000)
    INSERT INTO audit (time, actor, action, outcome, address)
    SELECT ${time}, 'user:anna', 'sign-in', 'ok', '192.0.2.1' FROM counted
  `.execute(place.db)
  const found = async (more: Partial<AuditQuery>) => {
    const { items, next } = await audit.read({ action: 'maintenance', limit: 10, ...more })
    return [items.length, next]
  }
  const [{ id }] = (await place.db.selectFrom('audit').select('id').where('action', '=', 'maintenance').execute()) as [
    { id: number },
  ]
  expect(await found({})).toEqual([0, String(id + 1)])
  expect(await found({ from: 0 })).toEqual([0, String(id + 1)])
  expect(await found({ before: id + 1 })).toEqual([1, undefined])
  expect(await found({ from: time - 86_400_000 })).toEqual([1, undefined])
  expect(await found({ from: time, to: time })).toEqual([1, undefined])
})

test('recentValues: it returns the outcomes and solutions in the newest 10,000 entries, sorted and without duplicates', async () => {
  const audit = createAudit(place.db, createLimits())
  await audit.record(throttled('user:anna', { outcome: 'ERR_OLD', solution: 'old' }))
  await sql`
    WITH RECURSIVE counted(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counted WHERE n < 9997)
    INSERT INTO audit (time, actor, action, outcome, address)
    SELECT 1, 'user:anna', 'sign-in', 'ok', '192.0.2.1' FROM counted
  `.execute(place.db)
  audit.note(throttled('user:anna', { outcome: 'refused', solution: 'shop' }))
  audit.note(throttled('user:anna', { outcome: 'refused', solution: 'crm' }))
  const outcomes = ['ERR_OLD', 'ok', 'refused']
  expect(await audit.recentValues()).toEqual({ outcomes, solutions: ['crm', 'old', 'shop'] })
  audit.note(throttled('user:anna', { outcome: 'refused' }))
  expect(await audit.recentValues()).toEqual({ outcomes: ['ok', 'refused'], solutions: ['crm', 'shop'] })
})

test('sweep: at most 1,000 expired entries are deleted per statement', async () => {
  let time = 1_900_000_000_000
  const counted = withRowCounts(place.db)
  const audit = createAudit(counted.db, createLimits({ AUDIT_KEPT: 1000 }), () => time)
  for (let n = 0; n < 2500; n++) {
    if (n % 10 === 0) time += 1
    audit.note(throttled('user:old', { solution: 'swept' }))
  }
  await audit.flush()
  time += 1001
  audit.note(throttled('user:new', { solution: 'swept' }))
  await audit.flush()
  await audit.sweep()
  const { items } = await audit.read({ limit: 10, solution: 'swept' })
  expect(items.map(({ actor }) => actor)).toEqual(['user:new'])
  expect(Math.max(...counted.rows)).toBe(1000)
})

test('while the database hangs, at most one batch is in progress, and 20,000 entries wait', async () => {
  const audit = createAudit(place.db, createLimits())
  const { promise: hung, resolve: end } = Promise.withResolvers<void>()
  const held = place.db.transaction().execute(() => hung)
  for (let burst = 0; burst < 4; burst++) {
    for (let n = 0; n < 15_000; n++) audit.note(throttled('user:anna', { solution: 'hung' }))
    void audit.flush()
    await setImmediate()
  }
  end()
  await held
  await audit.flush()
  const entries = place.db.selectFrom('audit').select(({ fn }) => fn.countAll().as('count'))
  expect(await entries.where('solution', '=', 'hung').executeTakeFirst()).toEqual({ count: 15_000 + 20_000 })
})
