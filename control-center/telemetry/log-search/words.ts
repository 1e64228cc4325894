import { createHash } from 'node:crypto'
import { LEVELS } from '../otlp/read-logs.ts'

/** Characters of a word; words of a line. Further ones cannot be searched for. */
const LONGEST = 64
const MOST = 400
/**
 * How many times as long a text may become when its accents are removed; the rest is not searchable. A Korean syllable becomes
 * three letters, but the single character U+FDFA becomes 18, at the same cost each.
 */
const MOST_GROWTH = 3
/** Characters that are normalised together. */
const PIECE = 256

/** The words of a text, each once: letters and digits, without case and accents. */
export function wordsOf(text: string): string[] {
  const words = new Set<string>()
  for (const [word] of plainOf(text).matchAll(/[\p{L}\p{N}]+/gu)) {
    words.add(word.length <= LONGEST ? word : [...word.slice(0, 2 * LONGEST)].slice(0, LONGEST).join('').toWellFormed())
    if (words.size === MOST) break
  }
  return [...words]
}

/** Piece by piece, so that no more is normalised than is used. */
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

/** A condition on a line's words: all groups hold, of each group at least one word. */
export type WordQuery = readonly (readonly { readonly word: string; readonly isStart: boolean }[])[]

/**
 * What somebody typed: each word is in the line; one with `*` at its end is the start of a word.
 * @returns null where no word is in it: nothing fits
 */
export function queryOf(text: string): WordQuery | null {
  const query = text.split(/\s+/).flatMap((part) => {
    const words = wordsOf(part)
    return words.map((word, index) => [{ word, isStart: index === words.length - 1 && part.endsWith('*') }])
  })
  return query.length === 0 ? null : query.slice(0, 20)
}

/*
 * What a line is of is kept among its words, so that a search looks at no line of others. No text has such a word: those of texts
 * have no underscore.
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

/** Those of a line. */
export function scopeWords(environment: string, line: { readonly solution: string; readonly level: number }): string[] {
  return [
    environmentWord(environment),
    levelWord(line.level),
    ...(line.solution === '' ? [] : [solutionWord(line.solution)]),
  ]
}

export type Scope = {
  readonly environments: readonly string[]
  /** The lowest; absent: all. */
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
