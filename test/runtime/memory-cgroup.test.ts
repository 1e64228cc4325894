import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createCgroupMemory } from '../../runtime/memory-cgroup.ts'

let root: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'solhost-cgroup-'))
})
afterEach(() => rmSync(root, { recursive: true }))

function write(files: Record<string, string | number>): void {
  for (const [name, text] of Object.entries(files)) {
    const file = join(root, name)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, `${text}\n`)
  }
}

/**
 * Writes the /proc files of a process in this cgroup, for cgroup v2.
 * @param mount the mounted part of the hierarchy, and the mount point
 */
function version2(path: string, mount: { root: string; point: string } = { root: '/', point: '/sys/fs/cgroup' }): void {
  write({
    'proc/self/cgroup': `0::${path}`,
    'proc/self/mountinfo': `22 1 8:1 / / rw - ext4 /dev/root rw\n30 23 0:26 ${mount.root} ${mount.point} rw,nosuid - cgroup2 cgroup2 rw`,
  })
}

test('cgroups: the limit of version 2 is found in a container that sees only its own group', () => {
  version2('/')
  write({
    'sys/fs/cgroup/memory.max': 1000,
    'sys/fs/cgroup/memory.current': 900,
    'sys/fs/cgroup/memory.stat': 'anon 500\ninactive_file 100\nactive_file 80\nfile_mapped 60\nslab 1',
  })
  // The kernel can reclaim the page cache, so the inactive part doesn't count. Neither does the active part that no
  // process has mapped.
  expect(createCgroupMemory(root)()).toEqual([{ limit: 1000, used: 900 - 100 - 20 }])
})

test('cgroups: parents with a limit count too, and memory.high if it is lower', () => {
  version2('/pod.slice/one.scope')
  write({
    'sys/fs/cgroup/pod.slice/one.scope/memory.max': 'max',
    'sys/fs/cgroup/pod.slice/one.scope/memory.current': 10,
    'sys/fs/cgroup/pod.slice/memory.max': 500,
    'sys/fs/cgroup/pod.slice/memory.high': 400,
    'sys/fs/cgroup/pod.slice/memory.current': 30,
  })
  expect(createCgroupMemory(root)()).toEqual([{ limit: 400, used: 30 }])
})

test('cgroups: if versions 1 and 2 are mounted together, both are read, and the number that means unlimited is not a limit', () => {
  write({
    'proc/self/cgroup': '4:cpu,memory:/a/b\n1:name=systemd:/\n0::/',
    'proc/self/mountinfo':
      '30 23 0:26 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n31 23 0:27 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw',
    'sys/fs/cgroup/memory/a/b/memory.limit_in_bytes': '9223372036854771712',
    'sys/fs/cgroup/memory/a/b/memory.usage_in_bytes': 1,
    'sys/fs/cgroup/memory/a/memory.limit_in_bytes': 1000,
    'sys/fs/cgroup/memory/a/memory.usage_in_bytes': 700,
    'sys/fs/cgroup/memory/a/memory.stat':
      'inactive_file 1\ntotal_inactive_file 200\ntotal_active_file 50\ntotal_mapped_file 50',
  })
  expect(createCgroupMemory(root)()).toEqual([{ limit: 1000, used: 500 }])
})

test('cgroups: if the path is outside the mount, the group at the mount itself is used', () => {
  version2('/docker/abc', { root: '/docker/abc', point: '/sys/fs/my\\040cgroup' })
  write({ 'sys/fs/my cgroup/memory.max': 1000, 'sys/fs/my cgroup/memory.current': 7 })
  expect(createCgroupMemory(root)()).toEqual([{ limit: 1000, used: 7 }])
  version2('/../../other', { root: '/', point: '/sys/fs/my\\040cgroup' })
  expect(createCgroupMemory(root)()).toEqual([{ limit: 1000, used: 7 }])
})

test('cgroups: usage is read on every call, and limits every two seconds', () => {
  let time = 0
  version2('/')
  write({ 'sys/fs/cgroup/memory.max': 1000, 'sys/fs/cgroup/memory.current': 7 })
  const look = createCgroupMemory(root, () => time)
  expect(look()).toEqual([{ limit: 1000, used: 7 }])
  write({ 'sys/fs/cgroup/memory.max': 300, 'sys/fs/cgroup/memory.current': 8 })
  expect(look()).toEqual([{ limit: 1000, used: 8 }])
  time = 2000
  expect(look()).toEqual([{ limit: 300, used: 8 }])
  write({ 'sys/fs/cgroup/memory.max': 'max' })
  time = 4000
  expect(look()).toEqual([])
})

test('cgroups: there is no limit if there are no cgroups, or if their files have another format', () => {
  expect(createCgroupMemory(root)()).toEqual([])
  version2('/')
  write({ 'sys/fs/cgroup/memory.max': 'surprise', 'proc/self/cgroup': 'nonsense\n\n0::/' })
  expect(createCgroupMemory(root)()).toEqual([])
})
