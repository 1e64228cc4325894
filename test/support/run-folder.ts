import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
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
  const folder = mkdtempSync(join(tmpdir(), 'solhost-run-'))
  // Database servers run as accounts of their own.
  chmodSync(folder, 0o711)
  process.env.SOLHOST_TEST_RUN = folder
  process.env.NODE_COMPILE_CACHE = join(folder, 'compiled')
  mkdirSync(process.env.NODE_COMPILE_CACHE)
  process.env.PATH = `${INSTALLED}:${process.env.PATH ?? ''}`
  return () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
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
