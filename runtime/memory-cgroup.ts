import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * A control group that has a memory limit and contains this process, directly or through a child group. Sizes are in
 * bytes.
 */
export type LimitedGroup = {
  readonly limit: number
  /**
   * The memory of all processes in the group. Excludes the file cache, which the kernel reclaims before it kills a
   * process.
   */
  readonly used: number
}

/**
 * Reads the memory limits that an orchestrator set for this process's control group and its parents. Supports versions
 * 1 and 2. @returns every group with a limit; empty if there is no limit or nothing can be read
 */
export type CgroupMemory = () => readonly LimitedGroup[]

/** How often limits and locations of groups are looked up, in ms: an orchestrator may change both. */
const FIND_EVERY = 2_000
/**
 * Minimum interval in ms between measurements of reclaimable memory. On a machine with many cores, one measurement
 * takes the kernel 2 ms.
 */
const COUNT_CACHE_EVERY = 250
/** While less than this fraction of the limit is used, reclaimable memory is not measured. */
const NEAR = 1 / 2
/**
 * In bytes. A limit of at least this size means no limit: version 1 then reports a number larger than any machine's
 * memory.
 */
const NO_LIMIT = 2 ** 60

/**
 * @param root the folder that contains `proc` and the mount points; tests pass another folder
 * @param now returns the time in ms
 */
export function createCgroupMemory(root = '/', now: () => number = () => performance.now()): CgroupMemory {
  let groups: readonly Group[] = []
  let foundAt: number | null = null

  function use({ folder, files, limit, cache }: Group): LimitedGroup[] {
    const held = numberIn(join(folder, files.used))
    if (held === null) return []
    if (held < limit * NEAR) return [{ limit, used: held }]
    if (cache.countedAt === null || now() - cache.countedAt >= COUNT_CACHE_EVERY) {
      cache.countedAt = now()
      cache.size = reclaimable(folder, files)
    }
    return [{ limit, used: Math.max(0, held - cache.size) }]
  }

  return () => {
    if (foundAt === null || now() - foundAt >= FIND_EVERY) {
      foundAt = now()
      groups = findGroups(root)
    }
    return groups.flatMap(use)
  }
}

type Files = {
  /**
   * The files that contain limits. The lowest limit applies: above `memory.high`, the kernel slows the processes down
   * almost to a halt.
   */
  readonly limits: readonly string[]
  readonly used: string
  /**
   * The prefix of the fields in `memory.stat`. Version 1 has fields with this prefix that include child groups, as
   * `used` does.
   */
  readonly prefix: '' | 'total_'
  readonly mapped: string
}

type Group = {
  readonly folder: string
  readonly files: Files
  readonly limit: number
  readonly cache: { size: number; countedAt: number | null }
}

const VERSION_2: Files = {
  limits: ['memory.max', 'memory.high'],
  used: 'memory.current',
  prefix: '',
  mapped: 'file_mapped',
}
const VERSION_1: Files = {
  limits: ['memory.limit_in_bytes'],
  used: 'memory.usage_in_bytes',
  prefix: 'total_',
  mapped: 'mapped_file',
}

/** @returns the group's lowest limit; null if it has none */
function limitOf(folder: string, { limits }: Files): number | null {
  const set = limits.map((name) => numberIn(join(folder, name))).filter((one) => one !== null && one < NO_LIMIT)
  return set.length === 0 ? null : Math.min(...(set as number[]))
}

/**
 * Returns how much memory the kernel can reclaim before it kills a process, in bytes.
 *
 * Chosen here: this includes the part of the active cache (`active_file`) that no process has mapped. Otherwise, the
 * files of a large embedded database would cause the processes of solutions to be killed.
 */
function reclaimable(folder: string, { prefix, mapped }: Files): number {
  const stat = read(join(folder, 'memory.stat'))
  const of = (name: string) => Number(new RegExp(`^${prefix}${name} (\\d+)$`, 'm').exec(stat)?.[1] ?? 0)
  return of('inactive_file') + Math.max(0, of('active_file') - of(mapped))
}

/** Returns this process's group and its parent groups, if they are visible from here and have a limit. */
function findGroups(root: string): Group[] {
  const paths = read(join(root, 'proc/self/cgroup')).split('\n').map(membership)
  return read(join(root, 'proc/self/mountinfo'))
    .split('\n')
    .flatMap((line) => {
      const mount = cgroupMount(line)
      if (mount === null) return []
      const path = paths.find((one) => one?.version === mount.version)?.path
      if (path === undefined) return []
      const files = mount.version === 2 ? VERSION_2 : VERSION_1
      return foldersUpwards(join(root, mount.point), below(path, mount.root)).flatMap((folder) => {
        const limit = limitOf(folder, files)
        return limit === null ? [] : [{ folder, files, limit, cache: { size: 0, countedAt: null } }]
      })
    })
}

type Version = 1 | 2

/**
 * Parses a line `hierarchy:controllers:path`. In version 2, the line contains no controllers.
 * @see cgroups(7)
 */
function membership(line: string): { readonly version: Version; readonly path: string } | null {
  const [, controllers, path] = /^\d+:([^:]*):(\/.*)$/.exec(line) ?? []
  if (controllers === undefined || path === undefined) return null
  if (controllers === '') return { version: 2, path }
  return controllers.split(',').includes('memory') ? { version: 1, path } : null
}

/**
 * Parses a line `36 35 0:30 root point options tags - type source superoptions`.
 * @see proc_pid_mountinfo(5)
 */
function cgroupMount(
  line: string,
): { readonly version: Version; readonly root: string; readonly point: string } | null {
  const [before = '', after = ''] = line.split(' - ')
  const [, , , mountedRoot, point] = before.split(' ')
  const [type, , options = ''] = after.split(' ')
  if (mountedRoot === undefined || point === undefined) return null
  const place = { root: unescaped(mountedRoot), point: unescaped(point) }
  if (type === 'cgroup2') return { version: 2, ...place }
  return type === 'cgroup' && options.split(',').includes('memory') ? { version: 1, ...place } : null
}

/** Decodes spaces and similar characters, which are written as `\040`. */
function unescaped(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)))
}

/**
 * Returns the group's path relative to the mount. A container that sees only its own group has that group at the mount
 * itself.
 */
function below(path: string, mountedRoot: string): string {
  if (path.split('/').includes('..')) return ''
  if (mountedRoot === '/') return path
  return path === mountedRoot || path.startsWith(`${mountedRoot}/`) ? path.slice(mountedRoot.length) : ''
}

function foldersUpwards(point: string, path: string): string[] {
  const names = path.split('/').filter((name) => name !== '')
  return [...names.keys(), names.length].map((depth) => join(point, ...names.slice(0, depth))).reverse()
}

function numberIn(file: string): number | null {
  const text = read(file).trim()
  return /^\d+$/.test(text) ? Number(text) : null
}

function read(file: string): string {
  try {
    return readFileSync(file, 'latin1')
  } catch {
    return ''
  }
}
