import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { placeOf, splitModule } from '../../../runtime/bundle/layout.ts'

export const ROOT = fileURLToPath(new URL('../../..', import.meta.url))

/**
 * Every page with code blocks that readers may copy. Generated pages are left out, because the tests of their
 * generators check them.
 */
export const GUIDES = globSync(['docs/*.md', 'README.md', 'SECURITY.md'], { cwd: ROOT }).sort()

/**
 * A fenced code block. GitHub uses only the first word after the fence, as the language. The other words tell these
 * tests what the block is.
 */
export type Block = {
  readonly guide: string
  readonly line: number
  readonly language: string
  readonly words: readonly string[]
  readonly code: string
  /** The second-level heading above the block, or "" before the first heading. */
  readonly section: string
}

export function readBlocks(guide: string): Block[] {
  const lines = readFileSync(join(ROOT, guide), 'utf8').split('\n')
  const blocks: Block[] = []
  let section = ''
  for (let at = 0; at < lines.length; at++) {
    section = /^## (.+)/.exec(lines[at] ?? '')?.[1] ?? section
    const [, indent = '', info] = /^( *)```(.*)$/.exec(lines[at] ?? '') ?? []
    if (info === undefined) continue
    const end = lines.indexOf(`${indent}\`\`\``, at + 1)
    if (end < 0) throw new Error(`${guide}:${at + 1} begins a block that has no end`)
    const [language = '', ...words] = info.trim().split(/\s+/)
    const code = lines.slice(at + 1, end).map((line) => `${line.slice(indent.length)}\n`)
    blocks.push({ guide, line: at + 1, language, words, code: code.join(''), section })
    at = end
  }
  return blocks
}

/**
 * The kinds of code blocks. Each item contains an example of the words after the fence, and says what the block
 * contains:
 * - `solution`: `js globals.js`, a file of the solution that its section builds
 * - `folder`: `js shop/globals.js`, a file in the folder in which the guide's commands run
 * - `excerpt`: `json solutions/orders/solution.json`, lines of an existing file
 * - `claim`: `json session …`, the expected behaviour of the section's solution (`claims.ts`)
 * - `commands`: `sh`, and `console` with the commands' output
 * - `sql`: `sql embedded`, statements for the embedded database
 */
export type BlockKind = 'solution' | 'folder' | 'excerpt' | 'claim' | 'commands' | 'sql'

const FILE_LANGUAGES = new Set(['js', 'ts', 'json', 'html', 'css'])
export const CLAIMS = ['check', 'session', 'refused', 'log', 'log-return', 'form'] as const
export type ClaimName = (typeof CLAIMS)[number]

/**
 * Determines a block's kind from the words after its fence.
 * @returns null if the words match no kind
 */
export function kindOf({ guide, language, words: [first = ''] }: Block): BlockKind | null {
  if (language === 'sh' || language === 'console') return first === '' ? 'commands' : null
  if (language === 'sql') return first === 'embedded' ? 'sql' : null
  if ((CLAIMS as readonly string[]).includes(first.split('?')[0] as string)) {
    return language === 'json' || language === 'text' ? 'claim' : null
  }
  if (!FILE_LANGUAGES.has(language) || !first.endsWith(`.${language}`)) return null
  if (placeOf(splitModule(first).path).kind !== 'unused') return 'solution'
  if (existsSync(join(ROOT, first))) return 'excerpt'
  return makesFolder(guide, first.split('/')[0] as string) ? 'folder' : null
}

function makesFolder(guide: string, folder: string): boolean {
  return readFileSync(join(ROOT, guide), 'utf8').includes(`solhost init ${folder}`)
}

export function nameOf({ guide, line, language, words }: Block): string {
  return `${guide}:${line} (${[language, ...words].join(' ')})`
}
