import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { manifestJsonSchema } from '../runtime/bundle/manifest.ts'
import { formJsonSchema } from '../runtime/forms/form-schema.ts'
import { isOwnFile, type SolutionFolder, writeOwnFile } from './solution-folder.ts'
import { solutionTypes } from './types.ts'

/** The author may edit this file, so an existing file is never replaced. */
export const CONFIGURATION = 'jsconfig.json'

/** Loaded by the first line of test files. Separate from solhost.d.ts, because `solution` does not exist in scripts. */
const TEST_TYPES = new URL('../host/solution-tests/api.d.ts', import.meta.url)

/**
 * Files that enable completion and type checks in an editor. They are not part of the bundle.
 * @param files the solution's files, by path
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

/** Updates the files that exist. @returns the names of those that changed */
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
 * `moduleDetection` makes declarations local to their file, like in a form's script. solhost.d.ts declares everything
 * that other scripts can use. There are no DOM or Node.js types, because a sandbox has neither API.
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
