import { expect, test } from 'vitest'
import { createAnonymousLines } from '../../../host/oauth/anonymous-lines.ts'
import type { NewLogLine } from '../../../host/solutions/solution-log.ts'

test('anonymous lines: per network and solution, 100 lines a minute are logged; the last line says that others are omitted', () => {
  let time = 0
  const written: string[] = []
  const write = (solution: string, { message }: NewLogLine) => void written.push(`${solution} ${message}`)
  const lines = createAnonymousLines({ write }, () => time)
  for (let n = 0; n < 150; n++) lines('crm', '10.0.0.1', { level: 'info', message: `line ${n}` })
  expect([written.length, written[98], written[99]]).toEqual([
    100,
    'crm line 98',
    'crm further log lines about requests from 10.0.0.1 are suppressed for a minute',
  ])
  lines('crm', '10.0.0.2', { level: 'info', message: 'another network' })
  lines('hrm', '10.0.0.1', { level: 'info', message: 'another solution' })
  expect(written).toHaveLength(102)
  time += 60_000
  lines('crm', '10.0.0.1', { level: 'info', message: 'a minute later' })
  expect(written.at(-1)).toBe('crm a minute later')
})
