import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { pino } from 'pino'
import { expect, onTestFinished, test } from 'vitest'
import { metricsServer } from '../../host/metrics-route.ts'
import { ask } from '../support/http.ts'

test('if metrics cannot be collected, the response is 500, and the log contains the reason', async () => {
  const lines: string[] = []
  const log = pino({}, { write: (line: string) => void lines.push(line) })
  const server = metricsServer({ scrape: () => Promise.reject(new Error('no figures')) }, [], log)
  onTestFinished(() => void server.close())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { status, text } = await ask(`http://127.0.0.1:${(server.address() as AddressInfo).port}/metrics`)
  expect([status, text]).toEqual([500, 'The metrics could not be collected. The host’s log contains the reason.\n'])
  expect(lines).toEqual([expect.stringMatching(/"message":"no figures".*"msg":"the metrics could not be collected"/)])
})
