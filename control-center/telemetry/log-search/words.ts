import { createHash } from 'node:crypto'
import { LEVELS } from '../otlp/read-logs.ts'

/** Maximum characters per word and words per line. Anything beyond that is not searchable. */
const LONGEST = 64
const MOST = 400
/**
 * How many times longer a text may become when its accents are removed. Anything beyond that is not searchable. A
 * Korean syllable may become three letters. U+FDFA becomes 18 characters, so without a limit, short texts could take a
 * long time.
 */
const MOST_GROWTH = 3
/** How many characters are normalised at a time. */
const PIECE = 256

/** The unique words of a text: letters and digits, lowercased and without accents. */
export function wordsOf(text: string): string[] {
  const words = new Set<string>()
  for (const [word] of plainOf(text).matchAll(/[\p{L}\p{N}]+/gu)) {
    words.add(word.length <= LONGEST ? word : [...word.slice(0, 2 * LONGEST)].slice(0, LONGEST).join('').toWellFormed())
    if (words.size === MOST) break
  }
  return [...words]
}

/** Normalise in pieces, so that no more is normalised than needed. */
function plainOf(text: string): string {
  // ASCII has no accents, and most lines are plain ASCII.
  if (/^[\x00-\x7f]*$/.test(text)) return text.toLowerCase()
  const most = MOST_GROWTH * text.length
  let plain = ''
  for (let from = 0; from < text.length && plain.length < most; ) {
    const isInPair = /[\ud800-\udbff]/.test(text.charAt(from + PIECE - 1))
    const to = from + PIECE + (isInPair ? 1 : 0)
    plain += text
      .slice(from, to)
      .normalize('NFKD')
      .replace(/\p{M}+/gu, '')
    from = to
  }
  return plain.slice(0, most).toLowerCase()
}

/**
 * A condition on a line's words. The line must match all groups (AND). It matches a group if it contains any of the
 * group's words (OR).
 */
export type WordQuery = readonly (readonly { readonly word: string; readonly isStart: boolean }[])[]

/**
 * Parses a search text. A line must contain all of its words. A word that ends in `*` matches as a prefix.
 * @returns null if the text has no words, in which case nothing matches
 */
export function queryOf(text: string): WordQuery | null {
  const query = text.split(/\s+/).flatMap((part) => {
    const words = wordsOf(part)
    return words.map((word, index) => [{ word, isStart: index === words.length - 1 && part.endsWith('*') }])
  })
  return query.length === 0 ? null : query
}

/** Maximum words in a search text. Each word slows down the database query. */
export const MOST_SEARCHED = 20

export function hasTooManyWords(text: string): boolean {
  return (queryOf(text)?.length ?? 0) > MOST_SEARCHED
}

/*
 * A line's environment, solution and level are also stored as words (scope words), so that a search can skip lines
 * outside its scope. Scope words start with an underscore. Words from texts never contain one.
 */

function environmentWord(environment: string): string {
  return `_e${shortHash(environment)}`
}

function solutionWord(solution: string): string {
  return `_s${shortHash(solution)}`
}

function levelWord(level: number): string {
  return `_l${level}`
}

export function scopeWords(environment: string, line: { readonly solution: string; readonly level: number }): string[] {
  return [
    environmentWord(environment),
    levelWord(line.level),
    ...(line.solution === '' ? [] : [solutionWord(line.solution)]),
  ]
}

export type Scope = {
  readonly environments: readonly string[]
  /** The lowest level to include; undefined for all levels. */
  readonly level?: number | undefined
  readonly solution?: string | undefined
}

export function scopeQuery({ environments, level, solution }: Scope): WordQuery {
  const levels = level === undefined ? [] : Object.values(LEVELS).filter((one) => one >= level)
  const groups = [
    environments.map(environmentWord),
    levels.map(levelWord),
    solution === undefined ? [] : [solutionWord(solution)],
  ]
  return groups.filter((group) => group.length > 0).map((group) => group.map((word) => ({ word, isStart: false })))
}

function shortHash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16)
}
