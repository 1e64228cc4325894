import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { manifestJsonSchema } from '../runtime/bundle/manifest.ts'
import { formJsonSchema } from '../runtime/forms/form-schema.ts'
import { isOwnFile, type SolutionFolder, writeOwnFile } from './solution-folder.ts'
import { solutionTypes } from './types.ts'

/** It is the author's to change, so one that is there is never replaced. */
export const CONFIGURATION = 'jsconfig.json'

/** What test files ask for by their first line: in scripts there is no `solution`, so solhost.d.ts has none. */
const TEST_TYPES = new URL('../host/solution-tests/api.d.ts', import.meta.url)

/**
 * What an editor completes and checks a solution by; none of it belongs into the bundle.
 * @param files those of the solution, by path
 */
export function editorFiles(files: ReadonlyMap<string, Buffer>): Map<string, string> {
  return new Map(Object.entries(MAKERS).map(([name, make]) => [name, make(files)]))
}

const MAKERS: Readonly<Record<string, (files: ReadonlyMap<string, Buffer>) => string>> = {
  [CONFIGURATION]: () => json(JSCONFIG),
  'solhost.d.ts': solutionTypes,
  '.solhost/solution.schema.json': () => json(manifestJsonSchema()),
  '.solhost/form.schema.json': () => json(formJsonSchema()),
  '.solhost/test.d.ts': () => readFileSync(TEST_TYPES, 'utf8'),
}

/** Brings those up to date that are there. @returns which had to be */
export function renewEditorFiles({ path, files }: Pick<SolutionFolder, 'path' | 'files'>): string[] {
  return Object.entries(MAKERS).flatMap(([name, make]) => {
    if (name === CONFIGURATION || !isOwnFile(path, name)) return []
    const content = make(files)
    if (readFileSync(join(path, name), 'utf8') === content) return []
    writeOwnFile(path, name, content)
    return [name]
  })
}

/**
 * `moduleDetection`: what a script declares is its own, as forms have it; what other scripts may use of it stands in
 * solhost.d.ts. No DOM and no Node.js: a sandbox has neither.
 */
const JSCONFIG = {
  compilerOptions: {
    target: 'esnext',
    module: 'esnext',
    moduleResolution: 'bundler',
    moduleDetection: 'force',
    lib: ['esnext'],
    types: [],
    checkJs: true,
    strict: false,
    noEmit: true,
    skipLibCheck: true,
  },
  include: ['solhost.d.ts', 'globals.*', 'scopes', 'forms', 'modules'],
  exclude: ['**/*.test.js', '**/*.test.ts'],
}

function json(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`
}
