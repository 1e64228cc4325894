import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseAllDocuments } from 'yaml'

const FOLDER = fileURLToPath(new URL('../../deploy/', import.meta.url))

/** The parsed content of a file in `deploy/`. */
export type Described = Record<string, unknown>

export function textOf(file: string): string {
  return readFileSync(join(FOLDER, file), 'utf8')
}

/** All documents of a YAML file, anchors and merges resolved. @throws Error if it is not YAML or has a duplicate key */
export function documentsOf(file: string): readonly Described[] {
  return parseAllDocuments(textOf(file), { merge: true }).map((document) => {
    const [error] = document.errors
    if (error !== undefined) throw error
    return document.toJS() as Described
  })
}

export function filesOf(pattern: string): readonly string[] {
  return globSync(pattern, { cwd: FOLDER }).sort()
}

export function propertiesOf(file: string): ReadonlyMap<string, string> {
  const lines = textOf(file)
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
  return new Map(lines.map((line) => line.split(/=(.*)/s) as [string, string]))
}

/** The value at a path such as `spec.containers.0.image`. */
export function at(described: unknown, path: string): unknown {
  return path.split('.').reduce((value, key) => (value as Record<string, unknown> | undefined)?.[key], described)
}
