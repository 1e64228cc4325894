import { expect, test } from 'vitest'
import { type AuditEntry, createAudit } from '../../../host/audit/audit.ts'
import { createLimits } from '../../../runtime/limits.ts'
import { usePlace } from '../database/contract.ts'

const place = usePlace('embedded', async () => null)

const throttled = (actor: string, more: Partial<AuditEntry> = {}): AuditEntry => ({
  actor,
  action: 'sign-in',
  solution: 'crm',
  outcome: 'throttled',
  address: '192.0.2.1',
  ...more,
})

test('noteOnce: what one network goes on trying is one entry a minute, whatever name it gives', async () => {
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

test('an entry with control characters and marks that turn text around is one line', async () => {
  const audit = createAudit(place.db, createLimits())
  audit.note(throttled('user:a\r\nadmin ok \u202e\u2028\u0000\ud800'))
  const { items } = await audit.read({ limit: 1 })
  expect(items[0]?.actor).toBe('user:a��admin ok ����')
})
