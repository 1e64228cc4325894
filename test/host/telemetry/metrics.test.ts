import { readFileSync } from 'node:fs'
import { pino } from 'pino'
import { expect, test } from 'vitest'
import { readSettings } from '../../../host/config/settings.ts'
import { entryLabel, methodLabel, modeLabel, resultLabel } from '../../../host/telemetry/labels.ts'
import { METRICS, type MetricEntry } from '../../../host/telemetry/metrics.ts'
import { createSolutionLabel } from '../../../host/telemetry/solution-label.ts'
import { SPANS } from '../../../host/telemetry/spans.ts'
import { createTelemetry } from '../../../host/telemetry/telemetry.ts'

const docs = readFileSync(new URL('../../../docs/telemetry.md', import.meta.url), 'utf8')

function telemetry() {
  const { telemetry: settings } = readSettings({})
  const log = pino({ level: 'silent' })
  return createTelemetry({ settings, environment: 'none', version: 'test', home: '/nowhere', bound: 1, log })
}

test('metrics: docs/telemetry.md lists exactly the metrics that exist, with type, labels and meaning', () => {
  const rows = docs.split('\n').filter((line) => line.startsWith('| `solhost_'))
  const wanted = Object.values(METRICS as Record<string, MetricEntry>).map(({ name, type, labels, what }) => {
    const shown = labels.length === 0 ? '-' : labels.map((label) => `\`${label}\``).join(', ')
    return `| \`${name}\` | ${type} | ${shown} | ${what} |`
  })
  expect(rows).toEqual(wanted)
})

test('spans: docs/telemetry.md lists exactly the spans that exist, with their attributes', () => {
  const rows = /\| span \| attributes \|\n\|---\|---\|\n((?:\|.*\|\n)+)/.exec(docs)?.[1]?.trimEnd().split('\n')
  const wanted = Object.values(SPANS as Record<string, { name: string; attributes: readonly string[] }>).map(
    ({ name, attributes }) => {
      return `| ${name} | ${attributes.length === 0 ? '-' : attributes.map((one) => `\`${one}\``).join(', ')} |`
    },
  )
  expect(rows).toEqual(wanted)
})

test('metrics: all are registered, and counting starts with the first scrape', async () => {
  const { scrape, metrics } = telemetry()
  metrics.add('throttles', {})
  expect(metrics.isOn()).toBe(false)
  const first = await scrape()
  expect(first).toMatch(/^# HELP target_info/)
  metrics.add('throttles', {}, 2)
  for (const [key, { type, labels }] of Object.entries(METRICS as Record<string, MetricEntry>)) {
    const all = Object.fromEntries(labels.map((label) => [label, 'x'])) as never
    if (type === 'counter') metrics.add(key as 'logins', all)
    else if (type === 'histogram') metrics.record(key as 'loginTime', 3, all)
    else metrics.observe(key as 'clients', () => [{ value: 1, labels: all }])
  }
  const text = await scrape()
  for (const { name, type, what } of Object.values(METRICS)) {
    expect(text).toContain(`# HELP ${name} ${what}\n# TYPE ${name} ${type}\n`)
  }
  expect(text).toContain('\nsolhost_throttled_total 3\n')
  expect(text).toContain('solhost_login_duration_seconds_bucket{mode="x",result="x",le="0.005"} 1\n')
  expect(text).toContain('solhost_login_duration_seconds_sum{mode="x",result="x"} 0.003\n')
})

test('labels: solutions beyond the limit share a label, and earlier solutions keep theirs', () => {
  const label = createSolutionLabel(2)
  expect(['a', 'b', 'c', 'a', 'd'].map(label)).toEqual(['a', 'b', 'other', 'a', 'other'])
})

test('labels: external values are mapped to a fixed list', () => {
  expect([modeLabel('AUTHENTICATOR'), modeLabel('x{y="z"}')]).toEqual(['authenticator', 'other'])
  const known = ['script_timeout', 'oauth_denied', 'ERR_DIRECTORY_UNREACHABLE', 'ERR_DIRECTORY_REFUSED']
  expect([...known, 'anna'].map(resultLabel)).toEqual([...known, 'other'])
  expect([
    entryLabel('onSolutionOpen'),
    entryLabel('forms.a.b.c'),
    entryLabel('GET /a'),
    entryLabel('__proto__'),
  ]).toEqual(['onSolutionOpen', 'forms', 'endpoints', 'other'])
  expect([methodLabel('POST'), methodLabel('PROPFIND')]).toEqual(['POST', 'other'])
})
