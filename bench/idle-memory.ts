import { readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { HOOK } from './login.ts'
import { type RealHost, startRealHost } from './real-host.ts'
import type { Row } from './report.ts'
import { figure } from './rounds.ts'

/** Number of warm-up uploads, which load code and fill caches. They are not measured. */
const BEFORE = 50
const UPLOADS = 100
/**
 * The number of garbage collections to run. V8 frees compiled code only after several collections during which it
 * wasn't used.
 */
const COLLECTIONS = 10

/**
 * Measures how much the host process grows (PSS) per uploaded solution that is never called. Garbage is collected
 * before both measurements (`collect-garbage.ts`). An idle solution has no sandbox process. File-backed pages are
 * excluded, because they belong to Node.js. The host's share of them depends on what else runs on the machine.
 */
export async function measureIdleMemory(): Promise<Row[]> {
  const collector = new URL('collect-garbage.ts', import.meta.url).href
  const host = await startRealHost({ NODE_OPTIONS: `--import=${collector}` })
  try {
    await upload(host, 'before', BEFORE)
    const before = await sizeOf(host)
    await upload(host, 'idle', UPLOADS)
    const after = await sizeOf(host)
    return [
      {
        work: `host memory (PSS) per idle solution, with ${UPLOADS} solutions uploaded`,
        against: '-',
        reach: { atMost: 50 },
        unit: 'KB',
        measured: (after - before) / 1024 / UPLOADS,
        details: `host memory ${figure(before / 1024 ** 2)} MB before the uploads, ${figure(after / 1024 ** 2)} MB after them`,
      },
    ]
  } finally {
    await host.stop()
  }
}

/** Two concurrent uploads, since the host checks two at a time. */
async function upload(host: RealHost, name: string, count: number): Promise<void> {
  let next = 0
  const one = async () => {
    while (next < count) {
      const number = next++
      await host.upload(`${name}-${number}`, `${HOOK}\n// ${name} ${number}`)
    }
  }
  await Promise.all([one(), one()])
}

async function sizeOf(host: RealHost): Promise<number> {
  // Wait until leftovers of the last uploads, such as check processes, have exited.
  await pause(1000)
  for (let time = 0; time < COLLECTIONS; time++) await collectGarbage(host)
  // Wait until freed pages have been returned to the system.
  await pause(1000)
  return ownSize(host.pid)
}

async function collectGarbage(host: RealHost): Promise<void> {
  const collections = () => host.output().split('garbage collected').length
  const before = collections()
  host.signal('SIGUSR2')
  while (collections() === before) await pause(20)
}

/** PSS without file-backed pages, in bytes. */
function ownSize(pid: number): number {
  const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'latin1')
  const bytes = (name: string) =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(text)?.[1] ?? Number.NaN) * 1024
  return bytes('Pss_Anon') + bytes('Pss_Shmem')
}
