import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { BrowserScript } from './browser-script.ts'

/** Packages that browsers load without a bundler, through an import map. */
export type BrowserPackages = {
  /** Each package's module, by the file name in its URL. */
  readonly files: ReadonlyMap<string, BrowserScript>
  /** @param root the path of the files, without a slash at the end @returns JSON for `<script type="importmap">` */
  importMap(root: string): string
}

/** An import or re-export at the top level of a published module. */
const FROM = /^(?:import|export)\b[^'"\n]*?from\s*['"]([^'"\n]+)['"]/gm

/**
 * Reads the published ES modules of these packages, and of all packages that those import.
 * @throws TypeError if a module imports another file from its package, because the import map could not resolve that
 */
export function readBrowserPackages(names: readonly string[]): BrowserPackages {
  const files = new Map<string, BrowserScript>()
  const addresses = new Map<string, string>()
  const add = (name: string, from: string): void => {
    if (addresses.has(name)) return
    const file = moduleOf(name, from)
    const text = readFileSync(file, 'utf8')
    const hash = createHash('sha256').update(text).digest('base64url').slice(0, 22)
    const fileName = `${name.replace(/^@/, '').replace('/', '-')}.js`
    files.set(fileName, { text, hash })
    addresses.set(name, `${fileName}?${hash}`)
    for (const [, imported = ''] of text.matchAll(FROM)) {
      if (imported.startsWith('.')) throw new TypeError(`${file} is not a single file: it imports ${imported}`)
      add(imported, file)
    }
  }
  for (const name of names) add(name, import.meta.url)
  return {
    files,
    importMap: (root) =>
      JSON.stringify({ imports: Object.fromEntries([...addresses].map(([name, path]) => [name, `${root}/${path}`])) }),
  }
}

/** Returns the file that `import` loads for a package. `require.resolve` can return a different one. */
function moduleOf(name: string, from: string): string {
  const folder = packageFolder(dirname(createRequire(from).resolve(name)), name)
  const { exports, module } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Published
  const path = exports?.import ?? module
  if (typeof path !== 'string') throw new TypeError(`the package ${name} has no ES module`)
  return join(folder, path)
}

type Published = { readonly exports?: { readonly import?: unknown }; readonly module?: unknown }

function packageFolder(folder: string, name: string): string {
  if (folder.endsWith(join('node_modules', ...name.split('/'))) && existsSync(join(folder, 'package.json')))
    return folder
  if (folder === dirname(folder)) throw new TypeError(`the folder of the package ${name} was not found`)
  return packageFolder(dirname(folder), name)
}
