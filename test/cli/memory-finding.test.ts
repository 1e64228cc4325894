import { expect, test } from 'vitest'
import { memoryFinding } from '../../cli/memory-finding.ts'

const MEGABYTE = 1024 ** 2

function look(configured: number, groupLimit: number | null, maximum: number, machine = 8192) {
  const limit = groupLimit === null ? null : groupLimit * MEGABYTE
  const state = { configured: configured * MEGABYTE, groupLimit: limit, maximum: maximum * MEGABYTE }
  const { ok, found } = memoryFinding(state, machine * MEGABYTE)
  return [ok, found]
}

test('memory: a limit that fits is shown beside the machine’s memory', () => {
  expect(look(3072, null, 3072)).toEqual([true, 'RUNTIME_XMX is 3072 MB, and the machine has 8192 MB'])
  expect(look(480, 512, 480)).toEqual([true, 'RUNTIME_XMX is 480 MB, and the machine has 8192 MB'])
})

test('memory: a lower container limit is reported, and is an error if too little remains for a host', () => {
  const text = 'RUNTIME_XMX is 3072 MB, but the cgroup (container) allows'
  expect(look(3072, 512, 480)).toEqual([true, `${text} 512 MB, so the host uses at most 480 MB`])
  expect(look(3072, 352, 320)).toEqual([true, `${text} 352 MB, so the host uses at most 320 MB`])
  expect(look(3072, 256, 224)).toEqual([false, `${text} 256 MB, so the host uses at most 224 MB`])
})

test('memory: a machine with less memory than RUNTIME_XMX is an error', () => {
  const found = 'RUNTIME_XMX is 3072 MB, but the machine has only 2048 MB and can run out of memory'
  expect(look(3072, null, 3072, 2048)).toEqual([false, found])
})
