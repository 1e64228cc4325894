import { expect, test } from 'vitest'
import type { Audit } from '../../../host/access/audit.ts'
import { sayWho } from '../../../host/solutions/api.ts'
import { PlatformError } from '../../../runtime/errors.ts'

const CHANGED = new PlatformError('ERR_CHANGED_MEANWHILE', 'changed', { name: 'shop', active: 'a'.repeat(64) })
const upload = { action: 'solution-upload', actor: 'token:ci', time: 7 }
const other = { action: 'grant-change', actor: 'admin', time: 8 }

/** An audit log whose reads return these entries in turn, and then no more. */
function auditOf(...reads: object[][]) {
  const log = { reads: 0, read: async () => ({ items: reads[log.reads++] ?? [] }) }
  return log
}

const detailsOf = async (audit: object) =>
  sayWho(audit as Audit, CHANGED, 0).catch(({ details }: PlatformError) => details as unknown)

test('the error says who activated the active version, even if the audit entry is written a moment later', async () => {
  const audit = auditOf([], [other], [other, upload])
  expect(await detailsOf(audit)).toMatchObject({ name: 'shop', activatedBy: 'token:ci', activatedAt: 7 })
  expect(audit.reads).toBe(3)
})

test('without an audit entry, the error says so after ten reads', async () => {
  const audit = auditOf()
  expect(await detailsOf(audit)).toMatchObject({ activatedBy: null, activatedAt: null })
  expect(audit.reads).toBe(10)
})

test('other errors are not changed', async () => {
  const error = new PlatformError('ERR_NOT_FOUND', 'gone')
  await expect(sayWho(auditOf() as never, error)).rejects.toBe(error)
})
