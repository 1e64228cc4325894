import { readFileSync } from 'node:fs'
import { HOOK } from './login.ts'
import { type RealHost, startRealHost } from './real-host.ts'
import type { Row } from './report.ts'
import { figure, pause } from './rounds.ts'

/** The first uploads load code and fill caches once; they do not count. */
const BEFORE = 50
const UPLOADS = 100
/** V8 lets go of compiled code only when it was unused for several collections. */
const COLLECTIONS = 10

/**
 * How much the host process grows by solutions that are uploaded and never called, in PSS with its garbage collected
 * before both measurements (`collect-garbage.ts`). An idle solution has no sandbox process. Pages of files do not
 * count: they are Node.js itself, whose part in this process changes with whatever else runs on the machine.
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
        work: `own memory (PSS) per uploaded idle solution, of ${UPLOADS}`,
        against: '-',
        reach: { atMost: 50 },
        unit: 'KB',
        measured: (after - before) / 1024 / UPLOADS,
        details: `host ${figure(before / 1024 ** 2)} MB → ${figure(after / 1024 ** 2)} MB, garbage collected`,
      },
    ]
  } finally {
    await host.stop()
  }
}

/** Two at a time, as the host checks them. */
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
  // What the last uploads left open, such as the check's processes, ends first.
  await pause(1000)
  for (let time = 0; time < COLLECTIONS; time++) await collectGarbage(host)
  // Freed pages go back to the system a little later.
  await pause(1000)
  return ownSize(host.pid)
}

async function collectGarbage(host: RealHost): Promise<void> {
  const collections = () => host.output().split('garbage collected').length
  const before = collections()
  host.signal('SIGUSR2')
  while (collections() === before) await pause(20)
}

/** Bytes of PSS that are no pages of files. */
function ownSize(pid: number): number {
  const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'latin1')
  const bytes = (name: string) =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(text)?.[1] ?? Number.NaN) * 1024
  return bytes('Pss_Anon') + bytes('Pss_Shmem')
}
