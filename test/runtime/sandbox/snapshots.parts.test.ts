import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { snapshotFlags } from '../../../runtime/sandbox-process.ts'
import { READ_TRUSTED } from '../../support/read-trusted.ts'

const ISOLATED_VM = fileURLToPath(import.meta.resolve('isolated-vm'))
/** The size of the header of V8's snapshots, and where in it the end of the read-only heap is, in bytes. */
const [HEADER, READ_ONLY_END] = [104, 80]

/** Runs the code in a new process. @returns what it prints, decoded from base64 */
function printedBy(flags: readonly string[], code: string): Buffer {
  const { stdout, stderr, status } = spawnSync(process.execPath, [...flags, '--input-type=module', '-e', code], {
    encoding: 'utf8',
    maxBuffer: 16 * 1024 ** 2,
  })
  expect([status, stderr]).toEqual([0, ''])
  return Buffer.from(stdout, 'base64')
}

const PRINT_SNAPSHOT = `import { createRequire } from 'node:module'
const ivm = createRequire('/')(${JSON.stringify(ISOLATED_VM)})
const snapshot = ivm.Isolate.createSnapshot([{ code: 'value = 1' }]).copy()
process.stdout.write(Buffer.from(snapshot).toString('base64'))`

/** The read-only heap in a snapshot that isolated-vm creates in a process with these flags. */
function readOnlyHeapOf(flags: readonly string[]): Buffer {
  const snapshot = printedBy(['--hash-seed=1', ...flags], PRINT_SNAPSHOT)
  return snapshot.subarray(HEADER, snapshot.readUInt32LE(READ_ONLY_END))
}

test('the snapshots of Node.js and of V8 have the same read-only heap, so isolates of both can share a process', () => {
  const [fromNode, fromV8] = [readOnlyHeapOf([]), readOnlyHeapOf(['--no-node-snapshot'])]
  expect(fromNode.length).toBeGreaterThan(100_000)
  expect(fromNode.length).toBe(fromV8.length)
  // V8 numbers functions in the order in which it creates them. The number follows four bytes of ones.
  const isNumber = (at: number) =>
    fromNode.readUInt32LE(at - 4) === 0xffff_ffff || fromNode.readUInt32LE(at - 5) === 0xffff_ffff
  const others = [...fromNode.keys()].filter((at) => fromNode[at] !== fromV8[at] && !isNumber(at))
  expect(others).toEqual([])
})

test('V8 does not rehash our snapshot for each context', () => {
  const code = `${READ_TRUSTED}
process.stdout.write(prepareIsolate(limits, () => trusted, Buffer.of()).newSnapshot)`
  const snapshot = printedBy(['--no-node-snapshot', '--no-warnings'], code)
  expect([snapshot.readUInt32LE(0), snapshot.readUInt32LE(4)]).toEqual([1, 0])
})

test('isolates for clients start from the snapshot of another process', () => {
  const code = `${READ_TRUSTED}
const first = prepareIsolate(limits, () => trusted, Buffer.of())
const [snapshot, forClients] = [first.newSnapshot, first.clientSnapshot()].map((text) => Buffer.from(text, 'base64'))
const second = prepareIsolate(limits, () => { throw new Error('the snapshot was not used') }, snapshot)
second.useClientSnapshot(forClients)
const found = [second.another(), second.another()].map((isolate) => {
  const context = isolate.createContextSync()
  return context.evalSync('typeof solhostStart + typeof security')
})
process.stdout.write(Buffer.from([forClients.equals(snapshot), ...found].join()).toString('base64'))
process.exit()`
  const found = printedBy(['--no-node-snapshot', '--no-warnings'], code).toString()
  expect(found).toBe('false,functionobject,functionobject')
})

test.each([
  ['Linux', 0, true, /^--hash-seed=\d+$/],
  ['Linux with another build of V8', 1, true, /^--no-node-snapshot --no-rehash-snapshot$/],
  ['another system', 0, false, /^--no-node-snapshot --no-rehash-snapshot$/],
])('on %s, the flags fit', (_system, extensible, isLinux, flags) => {
  expect(snapshotFlags({ v8_enable_extensible_ro_snapshot: extensible }, isLinux).join(' ')).toMatch(flags)
})
