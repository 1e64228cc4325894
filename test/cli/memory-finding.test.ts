import { expect, test } from 'vitest'
import { memoryFinding } from '../../cli/memory-finding.ts'

const MEGABYTE = 1024 ** 2

function look(configured: number, groupLimit: number | null, maximum: number, machine = 8192) {
  const limit = groupLimit === null ? null : groupLimit * MEGABYTE
  const state = { configured: configured * MEGABYTE, groupLimit: limit, maximum: maximum * MEGABYTE }
  const { ok, found } = memoryFinding(state, machine * MEGABYTE)
  return [ok, found]
}

test('memory: what fits is told beside what the machine has', () => {
  expect(look(3072, null, 3072)).toEqual([true, 'RUNTIME_XMX is 3072 MB, and the machine has 8192 MB'])
  expect(look(480, 512, 480)).toEqual([true, 'RUNTIME_XMX is 480 MB, and the machine has 8192 MB'])
})

test('memory: a container with less is told, and a fault where a host cannot do with what it leaves', () => {
  const text = 'RUNTIME_XMX is 3072 MB, but the control group (container) allows'
  expect(look(3072, 512, 480)).toEqual([true, `${text} 512 MB, so the host uses at most 480 MB`])
  expect(look(3072, 352, 320)).toEqual([true, `${text} 352 MB, so the host uses at most 320 MB`])
  expect(look(3072, 256, 224)).toEqual([false, `${text} 256 MB, so the host uses at most 224 MB`])
})

test('memory: a machine that has less than RUNTIME_XMX is a fault', () => {
  const found =
    'RUNTIME_XMX is 3072 MB, but the machine has only 2048 MB, so it can run out of memory before the host reaches its limit'
  expect(look(3072, null, 3072, 2048)).toEqual([false, found])
})
