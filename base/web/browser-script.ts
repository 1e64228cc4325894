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
 * space, so no build step and no source map is needed; comments are removed. All modules share the function's scope; a
 * test checks that no name is declared twice.
 * @param library a script that is inserted before the modules
 */
export function makeScript(main: URL, library = ''): BrowserScript {
  const modules: string[] = []
  const seen = new Set<string>()
  const add = (file: URL): void => {
    if (seen.has(file.href)) return
    seen.add(file.href)
    const source = readFileSync(file, 'utf8')
    for (const [, isType, from] of source.matchAll(IMPORT)) {
      if (isType === undefined && from?.startsWith('.')) add(new URL(from, file))
    }
    const own = source.replace(IMPORT, '')
    modules.push(file.pathname.endsWith('.ts') ? withoutTypes(own) : own)
  }
  add(main)
  const text = `'use strict';(() => {\n${library}\n${asPart(modules.join('\n'))}\n})()\n`
  return { text, hash: createHash('sha256').update(text).digest('base64url').slice(0, 22) }
}

/**
 * Matches comments on separate lines, which make up a sixth of the text. A test checks that no string in a module looks
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
