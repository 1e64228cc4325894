import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { editorFiles } from '../../../cli/editor-files.ts'
import { readSolutionFolder } from '../../../cli/solution-folder.ts'
import { exampleFolder } from '../../../host/solutions/examples.ts'
import { temporaryFolder, writeFiles } from '../cli.ts'
import type { Files } from '../zip.ts'
import { type Block, kindOf, ROOT } from './blocks.ts'

/** The solution that a section's code blocks build. */
export type GuideSolution = { readonly section: string; readonly name: string; readonly files: Record<string, string> }

/**
 * Returns one solution for each section with files. A section without a manifest uses the guide's first solution, and
 * its own files replace files there.
 */
export function solutionsOf(blocks: readonly Block[]): GuideSolution[] {
  const sections = Map.groupBy(blocks, ({ section }) => section)
  let first: Record<string, string> | null = null
  const solutions: GuideSolution[] = []
  for (const [section, all] of sections) {
    const own = filesOf(all)
    if (Object.keys(own).length === 0) continue
    const files: Record<string, string> = Object.hasOwn(own, 'solution.json') ? own : { ...first, ...own }
    first ??= files
    const { name } = JSON.parse(files['solution.json'] ?? '{}') as { name?: string }
    if (name === undefined) throw new Error(`${all[0]?.guide}: the section "${section}" has no solution.json`)
    solutions.push({ section, name, files })
  }
  return solutions
}

function filesOf(blocks: readonly Block[]): Record<string, string> {
  const files: Record<string, string> = {}
  for (const block of blocks.filter((one) => kindOf(one) === 'solution')) {
    const path = block.words[0] as string
    if (Object.hasOwn(files, path)) throw new Error(`${block.guide}:${block.line}: the section has ${path} twice`)
    files[path] = block.code
  }
  return files
}

/** Returns the name of the example in `solutions/` that a section quotes, or null if it quotes none. */
export function quotedExample(blocks: readonly Block[]): string | null {
  const paths = blocks.filter((one) => kindOf(one) === 'excerpt').map(({ words }) => words[0] as string)
  const names = new Set(
    paths.map((path) => /^solutions\/([^/]+)\//.exec(path)?.[1]).filter((name) => name !== undefined),
  )
  if (names.size > 1) throw new Error(`one section quotes several examples: ${[...names].join(', ')}`)
  return [...names][0] ?? null
}

export function exampleFiles(name: string): Files {
  return Object.fromEntries(readSolutionFolder(exampleFolder(name)).files)
}

/** Whether the quoted file contains the block's lines, unchanged. */
export function isExcerpt({ words, code }: Block): boolean {
  return readFileSync(join(ROOT, words[0] as string), 'utf8').includes(code.trimEnd())
}

const TSC = join(ROOT, 'node_modules/typescript/bin/tsc')

/**
 * Returns the errors that a code editor would show in the solutions. The format is `n/file:line: message`, where `n` is
 * the solution's index.
 */
export async function editorErrors(solutions: readonly Readonly<Record<string, string>>[]): Promise<string[]> {
  using folder = temporaryFolder()
  const names = [...solutions.keys()].map(String)
  for (const name of names) {
    const path = join(folder.path, name)
    writeFiles(path, solutions[Number(name)] ?? {})
    writeFiles(path, Object.fromEntries(editorFiles(readSolutionFolder(path).files)))
  }
  return await editorErrorsIn(folder.path, names)
}

/**
 * Runs tsc on these solutions.
 * @param names the solutions' folder names
 * @returns the errors
 */
export async function editorErrorsIn(folder: string, names: readonly string[]): Promise<string[]> {
  const words = [TSC, '-b', ...names.map((name) => join(name, 'jsconfig.json')), '--pretty', 'false']
  const child = spawn(process.execPath, words, { cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] })
  const [printed, code] = await Promise.all([
    text(child.stdout),
    new Promise<number | null>((resolve) => child.once('close', resolve)),
  ])
  const errors = printed.split('\n').filter((line) => line.trim() !== '')
  // Ignore TS18003, which tsc reports for a solution without scripts.
  const real = errors.filter((line) => !line.includes('TS18003'))
  if (code !== 0 && errors.length === 0) throw new Error(`tsc ended with ${code}`)
  return real
}
