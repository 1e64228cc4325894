// Finds a program of the project. In the repository, this is its TypeScript file, and in an installed package, its
// JavaScript file.
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))

/**
 * @param {string} name path without extension, such as `cli/entry`
 * @returns {string} absolute path; Node.js does not strip types in `node_modules`, so packages contain JavaScript
 */
export function entry(name) {
  const source = join(root, `${name}.ts`)
  return existsSync(source) ? source : join(root, `${name}.js`)
}
