import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

test('only functions that limit the time call String.prototype.normalize, which takes quadratic time', () => {
  const files = ['runtime', 'plugins', 'base', 'host', 'control-center'].flatMap((folder) =>
    (readdirSync(join(ROOT, folder), { recursive: true }) as string[])
      .filter((name) => name.endsWith('.ts'))
      .map((name) => `${folder}/${name}`),
  )
  const calls = files.filter((file) => /\.normalize\(/.test(readFileSync(join(ROOT, file), 'utf8')))
  // The log search normalises short pieces. The bundle's reader skips long names. All other code calls `normalized`.
  expect(calls.sort()).toEqual([
    'base/program/normalized.ts',
    'control-center/telemetry/log-search/words.ts',
    'runtime/bundle/file-names.ts',
  ])
})
