import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { withoutTypes } from '../../runtime/without-types.ts'

/** A browser script as one string, built once at startup. */
export type BrowserScript = {
  readonly text: string
  /** A hash of the script, for a cacheable URL and the ETag. */
  readonly hash: string
}

/** `import … from './x.ts'`, on one line or several. */
const IMPORT = /^import\s+(type\s+)?[^'"]*?from\s+'([^']+)'\n?/gm

/**
 * Bundles a module and its imports, dependencies first, into one strict-mode function. Types are replaced by white
 * space, so no build step and no source map is needed. Comments are removed. All modules share the function's scope; a
 * test checks that no name is declared twice.
 * @param library a script that is inserted before the modules
 */
export function makeScript(main: URL, library = ''): BrowserScript {
  return scriptOf(`'use strict';(() => {\n${library}\n${readModules(main).text}\n})()\n`)
}

/** A script that imports packages by name, which the page's import map resolves. */
export type BrowserModule = BrowserScript & {
  /** The names of the packages that the script imports. */
  readonly packages: readonly string[]
}

/**
 * Does the same as `makeScript` for a module script (`type="module"`), whose imports of packages stay in the script.
 * They have the form `import { … } from 'name'`.
 */
export function makeModule(main: URL): BrowserModule {
  const { text, imported } = readModules(main)
  const imports = [...imported].map(([name, names]) => `import { ${[...names].join(', ')} } from '${name}'\n`)
  return { ...scriptOf(`${imports.join('')}${text}\n`), packages: [...imported.keys()] }
}

function scriptOf(text: string): BrowserScript {
  return { text, hash: createHash('sha256').update(text).digest('base64url').slice(0, 22) }
}

/** The text of all modules, and the names that they import from packages. */
function readModules(main: URL) {
  const modules: string[] = []
  const imported = new Map<string, Set<string>>()
  const seen = new Set<string>()
  const add = (file: URL): void => {
    if (seen.has(file.href)) return
    seen.add(file.href)
    const source = readFileSync(file, 'utf8')
    for (const [statement, isType, from = ''] of source.matchAll(IMPORT)) {
      if (isType !== undefined) continue
      if (from.startsWith('.')) add(new URL(from, file))
      else imported.set(from, new Set([...(imported.get(from) ?? []), ...namesIn(statement)]))
    }
    const own = source.replace(IMPORT, '')
    modules.push(file.pathname.endsWith('.ts') ? withoutTypes(own) : own)
  }
  add(main)
  return { text: asPart(modules.join('\n')), imported }
}

/** The imported names, without types. */
function namesIn(statement: string): string[] {
  const names = /^import\s*\{([^}]*)\}/.exec(statement)?.[1]
  if (names === undefined)
    throw new TypeError(`a browser module must import a package with named imports: ${statement}`)
  return names
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '' && !name.startsWith('type '))
}

/**
 * Matches comments on separate lines. They make up a sixth of the text. A test checks that no string in a module looks
 * like a comment.
 */
const COMMENTS = /^[^\S\n]*(?:\/\*\*[\s\S]*?\*\/|\/\/.*)[^\S\n]*\n/gm

function asPart(plain: string): string {
  return plain
    .replace(COMMENTS, '')
    .replace(/^export (?=(async )?function|const|let|class)/gm, '')
    .replace(/[^\S\n]+$/gm, '')
    .replace(/\n{2,}/g, '\n')
}
