import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'

/** A cgroup with a memory limit, for one run. Sizes are in bytes. */
export type LimitedGroup = {
  /** Command-line prefix: runs the command that follows it inside the cgroup. */
  readonly joining: readonly string[]
  /** The cgroup's peak memory usage, including the page cache. */
  readonly most: () => number
  /** How many processes in the cgroup the kernel has killed. */
  readonly killed: () => number
  readonly remove: () => Promise<void>
}

const PLACES = [
  { folder: '/sys/fs/cgroup', limit: 'memory.max', most: 'memory.peak', events: 'memory.events' },
  {
    folder: '/sys/fs/cgroup/memory',
    limit: 'memory.limit_in_bytes',
    most: 'memory.max_usage_in_bytes',
    events: 'memory.oom_control',
  },
] as const

/**
 * Creates a cgroup with a memory limit. Uses cgroup v2 or v1, whichever controls memory on this machine.
 * @returns null if this user may not create one
 */
export function makeGroup(limit: number): LimitedGroup | null {
  for (const place of PLACES) {
    const group = join(place.folder, `solhost-long-${process.pid}`)
    try {
      mkdirSync(group)
    } catch {
      continue
    }
    try {
      // In a folder that is not a cgroup, the limit's file doesn't exist and must not be created.
      if (existsSync(join(group, place.limit))) {
        writeFileSync(join(group, place.limit), String(limit))
        return groupAt(group, place)
      }
      rmdirSync(group)
    } catch {
      rmdirSync(group)
    }
  }
  return null
}

function groupAt(group: string, { most, events }: (typeof PLACES)[number]): LimitedGroup {
  const read = (name: string) => readFileSync(join(group, name), 'utf8')
  return {
    joining: ['/bin/sh', '-c', 'echo $$ > "$0" && exec "$@"', join(group, 'cgroup.procs')],
    most: () => Number(read(most)),
    killed: () => Number(/^oom_kill (\d+)$/m.exec(read(events))?.[1] ?? Number.NaN),
    async remove() {
      for (let tries = 0; tries < 50; tries++) {
        try {
          rmdirSync(group)
          return
        } catch {
          // Retries the removal, because the last processes may take a moment to exit.
          await wait(100)
        }
      }
    },
  }
}
