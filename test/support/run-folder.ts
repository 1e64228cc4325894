import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** A folder of PATH with `solhost`, as in a container: that is how printed commands then begin. */
export const INSTALLED = fileURLToPath(new URL('bin', import.meta.url))

/**
 * Once for all tests, a folder that goes with the run. The processes that tests start, hundreds of them, keep there what
 * Node.js makes of the sources, which halves the CPU time of a start.
 */
export default function makeRunFolder(): () => void {
  const folder = mkdtempSync(join(memoryFolder() ?? tmpdir(), 'solhost-run-'))
  // Database servers run as accounts of their own.
  chmodSync(folder, 0o711)
  process.env.SOLHOST_TEST_RUN = folder
  process.env.NODE_COMPILE_CACHE = join(folder, 'compiled')
  mkdirSync(process.env.NODE_COMPILE_CACHE)
  process.env.TMPDIR = join(folder, 'tmp')
  mkdirSync(process.env.TMPDIR)
  chmodSync(process.env.TMPDIR, 0o1777)
  process.env.PATH = `${INSTALLED}:${process.env.PATH ?? ''}`
  return () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
}

/** What the tests and the container images among them fill at most, in bytes. */
const ROOM = 6 * 1024 ** 3

/**
 * The memory file system, where no database of a test waits for a disk; null where there is none, it has too little room,
 * or no program may be run from it.
 */
function memoryFolder(): string | null {
  if (!existsSync('/dev/shm')) return null
  const mounts = readFileSync('/proc/mounts', 'utf8')
    .split('\n')
    .map((line) => line.split(' '))
  const options = mounts.findLast(([, place]) => place === '/dev/shm')?.[3]?.split(',')
  if (options === undefined || options.includes('noexec') || options.includes('ro')) return null
  const { bavail, bsize } = statfsSync('/dev/shm')
  return bavail * bsize < ROOM ? null : '/dev/shm'
}

/** For processes that get nothing else of the tests' environment. */
export function compileCache(): { readonly NODE_COMPILE_CACHE?: string } {
  const { NODE_COMPILE_CACHE } = process.env
  return NODE_COMPILE_CACHE === undefined ? {} : { NODE_COMPILE_CACHE }
}

/** The folder of this run: what lies there is removed after the last test. */
export function runFolder(): string {
  return process.env.SOLHOST_TEST_RUN ?? tmpdir()
}
