import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { heapFlags } from '../../bin/heap-limit.js'

test('heap limit: it is half of RUNTIME_XMX if Node.js’s default would be higher', () => {
  expect(heapFlags({ RUNTIME_XMX: '512m' }, 4144)).toEqual(['--max-old-space-size=256'])
  expect(heapFlags({ RUNTIME_XMX: '1g' }, 4144)).toEqual(['--max-old-space-size=512'])
  expect(heapFlags({}, 4144)).toEqual(['--max-old-space-size=1536'])
})

test('heap limit: it is Node.js’s default if that is lower, as in a small container', () => {
  expect(heapFlags({ RUNTIME_XMX: '3g' }, 259)).toEqual([])
})

test('heap limit: it is never below the host’s minimum, and a flag in NODE_OPTIONS overrides it', () => {
  expect(heapFlags({ RUNTIME_XMX: '200m' }, 4144)).toEqual(['--max-old-space-size=128'])
  expect(heapFlags({ RUNTIME_XMX: '1g', NODE_OPTIONS: '--max-old-space-size=700' }, 4144)).toEqual([])
  expect(heapFlags({ RUNTIME_XMX: 'plenty' }, 4144)).toEqual([])
})

test('heap limit: Node.js uses the calculated limit', () => {
  const print = 'console.log(Math.round(require("node:v8").getHeapStatistics().heap_size_limit / 2 ** 20))'
  const { stdout } = spawnSync(process.execPath, [...heapFlags({ RUNTIME_XMX: '512m' }, 4144), '-e', print])
  // The heap limit also includes the young generation.
  expect(Number(stdout)).toBeGreaterThanOrEqual(256)
  expect(Number(stdout)).toBeLessThan(400)
})
