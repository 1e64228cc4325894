// Finds a Node.js that can run Solhost. Plain JavaScript in old syntax, since an old Node.js may run it.
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { platformOf } from '../runtime/platforms.js'

const root = dirname(dirname(fileURLToPath(import.meta.url)))

/**
 * Finds the Node.js binary to use. Prefers the binary that npm installed as an optional dependency. Otherwise, uses the
 * running one if it is new enough.
 * @param {string} [folder] the project's folder
 * @param {import('../runtime/platforms.js').Platform} [platform]
 * @param {string} [version] the version of the running Node.js
 * @returns {{ node: string } | { problem: string }} problem: one line with what to do
 */
export function findNode(folder = root, platform = platformOf(), version = process.versions.node) {
  const own = platform.node === null ? null : installedNode(folder, join(platform.node, platform.nodeFile))
  if (own !== null) return { node: own }
  if (fits(version)) return { node: process.execPath }
  return {
    problem:
      `Solhost requires Node.js 26 or later (or 24.11 or later in the 24 series), but this is Node.js ${version}. Install Node.js 26.` +
      (platform.node === null
        ? ''
        : ' To install it together with Solhost, run "npm install" without --omit=optional.'),
  }
}

/**
 * Finds the Node.js that npm installed. It is in the project's folder, or in the folder of a project that depends on
 * this one.
 */
function installedNode(folder, file) {
  const own = join(folder, 'node_modules', file)
  if (existsSync(own)) return own
  const above = dirname(folder)
  return above === folder ? null : installedNode(above, file)
}

/**
 * Whether a version such as `26.10.0` has the features that Solhost needs: type stripping, `node:sqlite` and the
 * permission model.
 */
export function fits(version) {
  const parts = version.split('.').map(Number)
  return parts[0] === 24 ? parts[1] >= 11 : parts[0] >= 26
}
