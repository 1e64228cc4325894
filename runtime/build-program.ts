// Builds one program (see program-file.ts): node runtime/build-program.ts <its TypeScript> <output folder>
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { build } from 'rolldown'

/** How long builds from other versions of the sources are kept, in ms. A running host may still load parts of them. */
const KEPT = 24 * 60 * 60 * 1000

const [main = '', folder = ''] = process.argv.slice(2)
const parent = dirname(folder)
mkdirSync(parent, { recursive: true })
for (const name of readdirSync(parent)) {
  const path = join(parent, name)
  const built = statSync(path, { throwIfNoEntry: false })?.mtimeMs
  if (built !== undefined && built < Date.now() - KEPT) rmSync(path, { recursive: true, force: true })
}

const created = mkdtempSync(join(parent, '.'))
await build({
  input: main,
  platform: 'node',
  external: ['isolated-vm'],
  output: { dir: created, format: 'cjs', entryFileNames: '[name].cjs', chunkFileNames: '[name].cjs' },
})
// The user that starts the host and the user that built the program may differ.
chmodSync(created, 0o755)
try {
  renameSync(created, folder)
} catch (error) {
  rmSync(created, { recursive: true })
  // Another process has built the same program in the meantime.
  if (!['ENOTEMPTY', 'EEXIST'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error
}
