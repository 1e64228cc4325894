import { readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** @returns the module and all of our modules that it imports, directly or indirectly, statically or dynamically */
function loadedBy(file: string, found = new Set<string>()): ReadonlySet<string> {
  if (found.has(file)) return found
  found.add(file)
  const text = readFileSync(join(ROOT, file), 'utf8')
  for (const [, now, later] of text.matchAll(
    /^(?:import|export) (?!type )[^'"]*?from '(\.[^']+)'|import\('(\.[^']+)'\)/gm,
  )) {
    loadedBy(relative(ROOT, resolve(ROOT, dirname(file), now ?? later ?? '')), found)
  }
  return found
}

test('a running host loads none of the command line’s code, which opens connections and reads terminals', () => {
  const host = loadedBy('host/main.ts')
  expect(host.size).toBeGreaterThan(100)
  expect([...host].filter((file) => file.startsWith('cli/'))).toEqual([])
  expect(loadedBy('cli/main.ts')).toContain('cli/host-api.ts')
})
