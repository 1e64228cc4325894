import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { fileURLToPath } from 'node:url'

const FOLDER = fileURLToPath(new URL('../build/plain/', import.meta.url))

/**
 * Strips the types from our own TypeScript. Node.js would load 8 MB to do this, which adds 0.1 s to each start. The
 * result is therefore cached in `build/` if that folder is writable.
 */
export function withoutTypes(source: string): string {
  const file = `${FOLDER}${createHash('sha256').update(process.version).update(source).digest('hex')}.js`
  try {
    return readFileSync(file, 'utf8')
  } catch {
    const plain = stripTypeScriptTypes(source, { mode: 'strip' })
    cache(file, plain)
    return plain
  }
}

function cache(file: string, plain: string): void {
  const unfinished = `${file}.${process.pid}`
  try {
    mkdirSync(FOLDER, { recursive: true })
    writeFileSync(unfinished, plain)
    renameSync(unfinished, file)
  } catch {
    // Ignore errors: without the cache, the next start strips the types again.
  }
}
