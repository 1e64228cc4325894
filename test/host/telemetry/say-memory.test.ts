import { expect, test } from 'vitest'
import { sayMemory } from '../../../host/telemetry/say-memory.ts'

const MEGABYTE = 1024 ** 2

function said(configured: number, groupLimit: number | null, maximum: number): string[] {
  const lines: string[] = []
  const bytes = { configured: configured * MEGABYTE, maximum: maximum * MEGABYTE, used: 0 }
  const limit = groupLimit === null ? null : groupLimit * MEGABYTE
  sayMemory({ ...bytes, groupLimit: limit }, { warn: (line: string) => void lines.push(line) })
  return lines
}

test('memory: a RUNTIME_XMX above the container’s limit is reported at startup, with what to do', () => {
  expect(said(3072, 512, 480)).toEqual([
    'RUNTIME_XMX is 3072 MB, but the cgroup of this process (for example, its container) allows only 512 MB. The host keeps itself and its sandbox processes below 480 MB. Set RUNTIME_XMX=480m, or raise the cgroup’s limit.',
  ])
})

test('memory: the suggested RUNTIME_XMX is always one that the settings accept', () => {
  expect(said(3072, 256, 224)).toEqual([
    'RUNTIME_XMX is 3072 MB, but the cgroup of this process (for example, its container) allows only 256 MB. The host keeps itself and its sandbox processes below 224 MB. A host needs at least 320 MB: raise the cgroup’s limit to 352 MB or more, and set RUNTIME_XMX to at least 320m.',
  ])
})

test('memory: nothing is reported if RUNTIME_XMX fits, or there is no limit', () => {
  expect([said(480, 512, 480), said(3072, null, 3072)]).toEqual([[], []])
})
