import { createHash } from 'node:crypto'
import { LEVELS } from '../otlp/read-logs.ts'

/** Characters of a word; words of a line. Further ones cannot be searched for. */
const LONGEST = 64
const MOST = 400

/** The words of a text, each once: letters and digits, without case and accents. */
export function wordsOf(text: string): string[] {
  const plain = text
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .toLowerCase()
  const words = new Set<string>()
  for (const [word] of plain.matchAll(/[\p{L}\p{N}]+/gu)) {
    words.add([...word.slice(0, 2 * LONGEST)].slice(0, LONGEST).join('').toWellFormed())
    if (words.size === MOST) break
  }
  return [...words]
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
