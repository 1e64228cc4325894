import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const FOLDER = fileURLToPath(new URL('../../solutions', import.meta.url))

/** The example solutions that are included in the platform, as folder names. Each is also the solution's name. */
export function exampleNames(): readonly string[] {
  return readdirSync(FOLDER, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name)
    .sort()
}

/**
 * Examples that need only a host. `many-providers` also needs identity providers, which `npm run example:oauth` starts.
 * `webhooks` needs services that call it.
 */
export function firstExampleNames(): readonly string[] {
  return exampleNames().filter((name) => name !== 'many-providers' && name !== 'webhooks')
}

export function exampleFolder(name: string): string {
  return join(FOLDER, name)
}
