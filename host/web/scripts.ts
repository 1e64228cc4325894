import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { type BrowserModule, type BrowserScript, makeModule, makeScript } from '../../base/web/browser-script.ts'

/** The script on the pages of open clients. */
export function makeClientScript(): BrowserScript {
  return makeScript(new URL('client/main.ts', import.meta.url), idiomorphText())
}

/** An additional script on the pages of open clients, only in `solhost dev`. */
export function makeDevScript(): BrowserScript {
  return makeScript(new URL('dev/main.ts', import.meta.url))
}

/**
 * The workbench's script. It is an ES module that imports the packages of its editor, which the host serves as separate
 * files.
 */
export function makeWorkbenchScript(): BrowserModule {
  return makeModule(new URL('workbench/main.ts', import.meta.url))
}

/** The script on the administration pages. */
export function makeAdminScript(): BrowserScript {
  return makeScript(new URL('admin/main.ts', import.meta.url))
}

/** The published browser build of idiomorph. */
function idiomorphText(): string {
  const file = createRequire(import.meta.url).resolve('idiomorph/dist/idiomorph.min.js')
  return readFileSync(file, 'utf8').trim()
}
