import { gzipSync } from 'node:zlib'
import { afterEach, expect, test } from 'vitest'
import { writeRequest } from '../../control-center/telemetry/otlp/messages.ts'
import type { PackedBody } from '../../control-center/telemetry/reading/read-body.ts'
import { type BodyReader, createBodyReader } from '../../control-center/telemetry/reading/reader.ts'

let reader: BodyReader | null = null
afterEach(async () => {
  await reader?.stop()
})

const THIEF = { id: 'stolen', organisation: 'one' }
const OTHERS = { id: 'east', organisation: 'two' }

function logs(environment: string, lines: number, text: string): PackedBody {
  const logRecords = Array.from({ length: lines }, () => ({ body: { stringValue: text } }))
  const request = { resourceLogs: [{ scopeLogs: [{ logRecords }] }] }
  const bytes = gzipSync(writeRequest('logs', request, 'pb'))
  return { signal: 'logs', format: 'pb', isZipped: true, bytes, environment, now: Date.now(), forward: null }
}

test('a compressed body that expands to many items is read outside the main thread', async () => {
  reader = createBodyReader()
  await reader.read(THIEF, logs('stolen', 1, 'the thread runs'))
  const body = logs('stolen', 500, '\ufdfa'.repeat(4096))
  const [all, own] = [process.cpuUsage(), process.threadCpuUsage()]
  const read = await reader.read(THIEF, body)
  const [allUsed, ownUsed] = [process.cpuUsage(all).user, process.threadCpuUsage(own).user]
  expect([read.items.length, read.rejected]).toEqual([500, 0])
  expect(ownUsed / allUsed).toBeLessThan(0.5)
})

test('an environment that sends little data does not wait for all requests from one that sends a lot', async () => {
  reader = createBodyReader()
  await reader.read(THIEF, logs('stolen', 1, 'the thread runs'))
  const order: string[] = []
  const large = logs('stolen', 300, 'a b c '.repeat(600))
  const reads = [1, 2, 3].map((number) => reader?.read(THIEF, large).then(() => order.push(`much ${number}`)))
  reads.push(reader.read(OTHERS, logs('east', 1, 'hello')).then(() => order.push('little')))
  await Promise.all(reads)
  // The large body that was already being read may finish first. No other large body may.
  expect(order.indexOf('little')).toBeLessThanOrEqual(1)
})

test('a body that takes too long is rejected, and the next one is read', async () => {
  reader = createBodyReader(1)
  const refused = { code: 'ERR_BODY_TOO_LARGE' }
  await expect(reader.read(THIEF, logs('stolen', 300, 'x y z '.repeat(600)))).rejects.toMatchObject(refused)
  await reader.stop()
  reader = createBodyReader()
  await expect(reader.read(THIEF, { ...logs('stolen', 1, 'x'), bytes: Buffer.from('x') })).rejects.toMatchObject({
    code: 'ERR_BAD_REQUEST',
  })
  expect((await reader.read(OTHERS, logs('east', 1, 'hello'))).items).toHaveLength(1)
})
