import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const BUILDER = fileURLToPath(new URL('./build-program.ts', import.meta.url))

const found = new Map<string, string>()

/**
 * Returns the JavaScript file of a program that runs in a separate process. All its imports except `isolated-vm` are in
 * the same folder. Starting from this file takes half the CPU time of starting from TypeScript, since no types need to
 * be stripped and no modules resolved. If these sources have not been built yet, this builds them, which takes half a
 * second.
 * @param main the program's source; its imports are in the same folder or in `runtime/`
 * @throws Error if it cannot be built
 */
export function programFile(main: URL): string {
  const source = fileURLToPath(main)
  const known = found.get(source)
  if (known !== undefined) return known
  // In an installed package, the program was built together with the package.
  if (source.endsWith('.js')) return join(ROOT, 'build', basename(dirname(source)), `${basename(source, '.js')}.cjs`)
  const name = basename(source, '.ts')
  const folder = join(
    ROOT,
    'build',
    `${basename(dirname(source))}-${stateOf([dirname(source), join(ROOT, 'runtime')])}`,
  )
  const file = join(folder, `${name}.cjs`)
  if (!existsSync(file)) build(source, folder)
  found.set(source, file)
  return file
}

function build(source: string, folder: string): void {
  const { status, stderr, error } = spawnSync(process.execPath, ['--no-warnings', BUILDER, source, folder], {
    encoding: 'utf8',
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  if (status === 0) return
  const why = error?.message ?? stderr.trim()
  throw new Error(`the program ${basename(folder)} cannot be built: ${why}. Next: run "npm run build" in ${ROOT}.`)
}

/** Identifies the state of the sources and of the packages that they import. */
function stateOf(folders: readonly string[]): string {
  const hash = createHash('sha256').update(readFileSync(join(ROOT, 'package-lock.json')))
  for (const folder of folders) {
    for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort()) {
      if (name.endsWith('.ts')) hash.update(name).update(readFileSync(join(folder, name)))
    }
  }
  return hash.digest('hex').slice(0, 16)
}
