import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Worker } from 'node:worker_threads'
import { CompiledQuery, type DatabaseConnection } from 'kysely'
import { expect, onTestFinished, test } from 'vitest'
import { threadDialect } from '../../control-center/telemetry/database/thread-dialect.ts'

test('telemetry: if a thread cannot start, one caller gets an error, and the next caller gets a connection', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'solhost-thread-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const data = { file: join(folder, 'telemetry.sqlite'), readOnly: false }
  const driver = threadDialect(data).createDriver()
  await driver.init()
  const first = (await driver.acquireConnection()) as DatabaseConnection & { readonly worker: Worker }
  await driver.releaseConnection(first)
  await first.worker.terminate()
  // A function can't be cloned, so `new Worker` throws, as it does on a system that can't start more threads.
  Object.assign(data, { further: () => {} })
  await expect(driver.acquireConnection()).rejects.toThrow('could not be cloned')
  Object.assign(data, { further: null })
  const next = await driver.acquireConnection()
  expect((await next.executeQuery(CompiledQuery.raw('select 1 as one'))).rows).toEqual([{ one: 1 }])
  await driver.releaseConnection(next)
  await driver.destroy()
})
