import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openPlatformKey, type PlatformKey } from '../../../base/config/platform-key.ts'
import { readSettings } from '../../../host/config/settings.ts'
import { openHostDatabase } from '../../../host/database/open.ts'
import { createPreviewTickets } from '../../../host/login-pages/preview-tickets.ts'

const home = mkdtempSync(join(tmpdir(), 'solhost-tickets-'))
let key: PlatformKey
beforeAll(async () => {
  const db = await openHostDatabase(readSettings({ PLATFORM_HOME: home }))
  key = await openPlatformKey(db, home, '')
  await db.destroy()
})
afterAll(() => rmSync(home, { recursive: true, force: true }))

test('preview tickets: a ticket is valid only for its solution and for twelve hours', () => {
  let time = 1_700_000_000_000
  const tickets = createPreviewTickets(key, () => time)
  const ticket = tickets.issue('crm')
  time += 43_199_999
  expect(tickets.isFor('crm', ticket)).toBe(true)
  expect(tickets.isFor('hrm', ticket)).toBe(false)
  time += 1
  expect(tickets.isFor('crm', ticket)).toBe(false)
})

test('preview tickets: a ticket that this platform did not issue is invalid', () => {
  const tickets = createPreviewTickets(key)
  const ticket = tickets.issue('crm')
  const plain = Buffer.from(JSON.stringify({ solution: 'crm', until: 9e15 })).toString('base64url')
  const made = [plain, `${plain}.${ticket.split('.')[1]}`, ticket.slice(0, -4), `${ticket}AAAA`, `.${ticket}`, '']
  expect(made.map((one) => tickets.isFor('crm', one))).toEqual(made.map(() => false))
})

test('preview tickets: a ticket is safe in a URL and in a Content-Security-Policy source', () => {
  expect(createPreviewTickets(key).issue('crm')).toMatch(/^[A-Za-z0-9_.-]{1,200}$/)
})
