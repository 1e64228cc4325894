import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** A folder for PATH. It contains `solhost`, as in a container, so that commands in messages start with `solhost`. */
export const INSTALLED = fileURLToPath(new URL('bin', import.meta.url))

/**
 * Runs once for all tests and creates a folder that is removed at the end. Tests start hundreds of processes, which
 * share Node.js's compile cache in this folder. This halves the CPU time to start a process.
 */
export default function makeRunFolder(): () => void {
  const folder = mkdtempSync(join(memoryFolder() ?? tmpdir(), 'solhost-run-'))
  // Database servers run under their own accounts.
  chmodSync(folder, 0o711)
  process.env.SOLHOST_TEST_RUN = folder
  process.env.NODE_COMPILE_CACHE = join(folder, 'compiled')
  mkdirSync(process.env.NODE_COMPILE_CACHE)
  process.env.TMPDIR = join(folder, 'tmp')
  mkdirSync(process.env.TMPDIR)
  chmodSync(process.env.TMPDIR, 0o1777)
  process.env.PATH = `${INSTALLED}:${process.env.PATH ?? ''}`
  // npx sets this variable. If it were still set, printed commands would start with npx.
  delete process.env.npm_command
  return () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
}

/** The space that the run folder needs, in bytes. Tests also store container images there. */
const ROOM = 6 * 1024 ** 3

/**
 * The memory file system, where test databases don't wait for a disk. Null if there is none, if it has too little
 * space, or if it doesn't allow running programs.
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

/** Environment variables for processes that inherit nothing else from the tests' environment. */
export function compileCache(): { readonly NODE_COMPILE_CACHE?: string } {
  const { NODE_COMPILE_CACHE } = process.env
  return NODE_COMPILE_CACHE === undefined ? {} : { NODE_COMPILE_CACHE }
}

/** The folder of this run; its contents are removed after the last test. */
export function runFolder(): string {
  return process.env.SOLHOST_TEST_RUN ?? tmpdir()
}
