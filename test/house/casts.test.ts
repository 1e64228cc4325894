import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const FOLDERS = ['runtime', 'plugins', 'base', 'host', 'control-center', 'cli']

/**
 * The number of casts in each file that silence the type checker. A comment next to each cast explains why types can't
 * replace it. In all other files, use types instead.
 */
const CASTS: Readonly<Record<string, number>> = {
  'base/database/alpha.ts': 1,
  'base/database/portable.ts': 1,
  'base/terminal/command.ts': 1,
  'runtime/bundle/unpack.ts': 1,
  'runtime/forms/element-schemas.ts': 1,
}

/** Skips comments, which begin with a star or two slashes. */
const CAST = /^(?!\s*(?:\/?\*|\/\/)).*?(?:\bas unknown as\b|\bas never\b|\bvalue\('[A-Z_]+'\) as\b)/gm

test('types: casts that silence the type checker occur only where the list allows them', () => {
  const found: Record<string, number> = {}
  for (const folder of FOLDERS) {
    for (const name of readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })) {
      if (!name.endsWith('.ts')) continue
      const count = [...readFileSync(join(ROOT, folder, name), 'utf8').matchAll(CAST)].length
      if (count > 0) found[`${folder}/${name}`] = count
    }
  }
  expect(found).toEqual(CASTS)
})
