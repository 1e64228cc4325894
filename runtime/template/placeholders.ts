import type { Lookup, Piece } from './compiled-template.ts'

const PLACEHOLDER = /%%(?:i18n:([A-Za-z0-9._-]+)|([A-Za-z0-9_.-]+))%%/g

/** A placeholder and its position in its text, in UTF-16 units. */
export type FoundPlaceholder = {
  readonly start: number
  readonly end: number
  readonly text: string
  readonly lookup: Lookup
}

/** Finds every placeholder in a text, from left to right. Any other `%%` is ordinary text. */
export function findPlaceholders(text: string): FoundPlaceholder[] {
  if (!text.includes('%%')) return []
  return [...text.matchAll(PLACEHOLDER)].map((match) => ({
    start: match.index,
    end: match.index + match[0].length,
    text: match[0],
    lookup: match[1] === undefined ? { from: 'json', name: match[2] as string } : { from: 'i18n', name: match[1] },
  }))
}

export function hasPlaceholder(text: string): boolean {
  return text.includes('%%') && text.search(PLACEHOLDER) >= 0
}

/** Splits a text into literal strings and lookups; no literal is empty. */
export function splitPlaceholders(text: string): Piece[] {
  const pieces: Piece[] = []
  let done = 0
  for (const { start, end, lookup } of findPlaceholders(text)) {
    if (start > done) pieces.push(text.slice(done, start))
    pieces.push(lookup)
    done = end
  }
  if (done < text.length) pieces.push(text.slice(done))
  return pieces
}

export function withoutPlaceholders(text: string, instead = ''): string {
  return text.includes('%%') ? text.replace(PLACEHOLDER, instead) : text
}
