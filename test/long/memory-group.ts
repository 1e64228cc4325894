import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'

/** A cgroup with a memory limit, for one run. Sizes are in bytes. */
export type LimitedGroup = {
  /** A command that joins the cgroup and then executes the command after it. */
  readonly joining: readonly string[]
  /** The peak memory usage, including cache. */
  readonly most: () => number
  /** The number of processes in the cgroup that the kernel has killed. */
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
 * Creates a cgroup of version 2 or 1, whichever controls memory on this machine.
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
      // If the folder is not a cgroup, this file does not exist, and must not be created.
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
          // Retries, because the remaining processes may take a moment to exit.
          await wait(100)
        }
      }
    },
  }
}
