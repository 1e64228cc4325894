import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { READ_TRUSTED } from '../../support/read-trusted.ts'

const OURS = `${READ_TRUSTED}
prepareIsolate(limits, () => trusted, Buffer.of())`
const BARE = `import ivm from 'isolated-vm'
ivm.Isolate.createSnapshot([{ code: '' }])`

/** Runs the code, which creates a snapshot. @returns the snapshot's objects of each kind that V8 creates per context */
function objectsPerContext(code: string): Readonly<Record<string, number>> {
  const flags = ['--no-warnings', '--serialization-statistics', '--input-type=module']
  const { stdout, status } = spawnSync(process.execPath, [...flags, '-e', code], {
    encoding: 'utf8',
    maxBuffer: 16 * 1024 ** 2,
  })
  expect(status).toBe(0)
  const statistics = stdout.slice(stdout.lastIndexOf('\nContextSerializer:'))
  const rows = statistics
    .slice(0, statistics.indexOf('\nDeserialization'))
    .matchAll(/^ +(\d+) +\d+ +Old +(\w+)_TYPE$/gm)
  return Object.fromEntries([...rows].map(([, count, kind]) => [kind, Number(count)]))
}

// V8 creates all of these objects for each call in the fresh realm, which takes two thirds of the call's CPU time.
test('the trusted part adds few objects to a context', () => {
  const [ours, bare] = [objectsPerContext(OURS), objectsPerContext(BARE)]
  const added = (kind: string) => (ours[kind] ?? 0) - (bare[kind] ?? 0)
  const all = Object.keys(ours).reduce((sum, kind) => sum + added(kind), 0)
  expect(bare.JS_FUNCTION).toBeGreaterThan(500)
  expect([all, added('JS_FUNCTION'), added('MAP')]).toEqual([
    expect.toSatisfy((count: number) => count > 400 && count < 860),
    expect.toSatisfy((count: number) => count > 100 && count < 220),
    expect.toSatisfy((count: number) => count > 50 && count < 185),
  ])
}, 60_000)
