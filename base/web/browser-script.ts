import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { withoutTypes } from '../../runtime/without-types.ts'

/** A script for browsers as one text, made once at the start. */
export type BrowserScript = {
  readonly text: string
  /** Names this text, for an address that may be cached and for the ETag. */
  readonly hash: string
}

/** `import … from './x.ts'`, on one line or several. */
const IMPORT = /^import\s+(type\s+)?[^'"]*?from\s+'([^']+)'\n?/gm

/**
 * Puts a module and those that it imports after one another, each after what it needs, in one strict function. Types become
 * white space, so there is no build and no source map to keep. All modules share that function's scope: a test sees to it
 * that no name is there twice.
 * @param library a script that comes before them
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
    modules.push(source.replace(IMPORT, ''))
  }
  add(main)
  const text = `'use strict';(() => {\n${library}\n${asPart(modules.join('\n'))}\n})()\n`
  return { text, hash: createHash('sha256').update(text).digest('base64url').slice(0, 22) }
}

function asPart(source: string): string {
  return withoutTypes(source)
    .replace(/^export (?=(async )?function|const|let|class)/gm, '')
    .replace(/[^\S\n]+$/gm, '')
    .replace(/\n{2,}/g, '\n')
}
