import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseAllDocuments } from 'yaml'

const FOLDER = fileURLToPath(new URL('../../deploy/', import.meta.url))

/** A parsed document from a file in `deploy/`. */
export type Described = Record<string, unknown>

export function textOf(file: string): string {
  return readFileSync(join(FOLDER, file), 'utf8')
}

/**
 * Parses all documents in a YAML file, and resolves anchors and merges.
 * @throws Error if it is not YAML or has a duplicate key
 */
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

/** Returns the value at a path such as `spec.containers.0.image`. */
export function at(described: unknown, path: string): unknown {
  return path.split('.').reduce((value, key) => (value as Record<string, unknown> | undefined)?.[key], described)
}
