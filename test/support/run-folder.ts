import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * A folder for PATH that contains the program `solhost`, as in a container. The commands in Solhost's messages then
 * start with `solhost`.
 */
export const INSTALLED = fileURLToPath(new URL('bin', import.meta.url))

/**
 * Runs once before all tests. Creates a folder, and removes it when vitest exits. The hundreds of processes that tests
 * start share Node.js's compile cache in this folder. This halves the CPU time for starting a process.
 */
export default function makeRunFolder(): void {
  const folder = mkdtempSync(join(memoryFolder() ?? tmpdir(), 'solhost-run-'))
  // Database servers run as other system users, and must be able to open their files in this folder.
  chmodSync(folder, 0o711)
  process.env.SOLHOST_TEST_RUN = folder
  process.env.NODE_COMPILE_CACHE = join(folder, 'compiled')
  mkdirSync(process.env.NODE_COMPILE_CACHE)
  process.env.TMPDIR = join(folder, 'tmp')
  mkdirSync(process.env.TMPDIR)
  chmodSync(process.env.TMPDIR, 0o1777)
  process.env.PATH = `${INSTALLED}:${process.env.PATH ?? ''}`
  // npx sets this variable. With it, the commands in Solhost's messages would start with npx.
  delete process.env.npm_command
  // Not earlier: a worker that exits after the last test creates the compile cache's folder again.
  process.once('exit', () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))
}

/** The free space that the run folder needs, in bytes. Tests also store container images in it. */
const ROOM = 6 * 1024 ** 3

/**
 * Returns the path of the in-memory file system, where databases don't wait for a disk. Null if there is none, it is
 * read-only or too small, or programs can't run from it.
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

/** The compile cache's environment variable, for processes that don't inherit the tests' environment. */
export function compileCache(): { readonly NODE_COMPILE_CACHE?: string } {
  const { NODE_COMPILE_CACHE } = process.env
  return NODE_COMPILE_CACHE === undefined ? {} : { NODE_COMPILE_CACHE }
}

/** Returns the folder for this test run. It is removed after the last test. */
export function runFolder(): string {
  return process.env.SOLHOST_TEST_RUN ?? tmpdir()
}
