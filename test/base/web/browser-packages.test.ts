import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { readBrowserPackages } from '../../../base/web/browser-packages.ts'
import { makeModule } from '../../../base/web/browser-script.ts'

test('browser packages: the import map has the packages and everything that they import, each at the hash of its text', () => {
  const { files, importMap } = readBrowserPackages(['@codemirror/view'])
  const { imports } = JSON.parse(importMap('/admin/modules')) as { imports: Record<string, string> }
  expect(Object.keys(imports).sort()).toEqual([
    '@codemirror/state',
    '@codemirror/view',
    '@marijn/find-cluster-break',
    'crelt',
    'style-mod',
    'w3c-keyname',
  ])
  for (const path of Object.values(imports)) {
    const [, name = '', hash] = /^\/admin\/modules\/([\w-]+\.js)\?([\w-]{22})$/.exec(path) ?? []
    expect(files.get(name)?.hash).toBe(hash)
    expect(files.get(name)?.text).toMatch(/^export /m)
  }
  expect(files.size).toBe(6)
})

test('browser packages: a package whose module imports its other files is refused', () => {
  expect(() => readBrowserPackages(['yaml'])).toThrow(/is not a single file: it imports|has no ES module/)
})

test('module script: all imports of a package become one import; imports of types and of our own modules are removed', () => {
  const folder = mkdtempSync(join(tmpdir(), 'solhost-module-'))
  try {
    writeFileSync(
      join(folder, 'main.ts'),
      "import { b, type C } from 'package'\nimport type { D } from 'types'\nimport { own } from './own.ts'\nown(b as C & D)\n",
    )
    writeFileSync(
      join(folder, 'own.ts'),
      "import { a, b } from 'package'\nexport function own(x: unknown) { a(b, x) }\n",
    )
    const { text, packages } = makeModule(pathToFileURL(join(folder, 'main.ts')))
    expect(packages).toEqual(['package'])
    expect(text.match(/^import .*/gm)).toEqual(["import { b, a } from 'package'"])
    expect(text).not.toMatch(/^export /m)
    writeFileSync(join(folder, 'main.ts'), "import everything from 'package'\neverything()\n")
    expect(() => makeModule(pathToFileURL(join(folder, 'main.ts')))).toThrow(/with named imports/)
  } finally {
    rmSync(folder, { recursive: true })
  }
})
