import type { Warning, WarningCode } from '../bundle/faults.ts'

/**
 * Maximum number of warnings that an upload lists; the last warning contains the number of the remaining ones. Chosen
 * here.
 */
const MAX_WARNINGS = 100

/** Maximum characters of the author's own text in a warning. */
const MAX_QUOTED = 80

/** Collects warnings about one file by offset, and reports them with line and column. */
export class TemplateWarnings {
  private readonly file: string
  private readonly shift: number
  private readonly lineStarts: readonly number[]
  private readonly found: (Warning & { readonly offset: number })[] = []

  /** @param shift the number of characters added before `source` for the parser */
  constructor(file: string, source: string, shift: number) {
    this.file = file
    this.shift = shift
    this.lineStarts = [0, ...Array.from(source.matchAll(/\r\n|\n|\r/g), (match) => match.index + match[0].length)]
  }

  /** @param offset the parser's offset; null for a warning about the whole file, which is listed first */
  add(code: WarningCode, message: string, offset: number | null): void {
    const place = offset === null ? {} : this.place(Math.max(0, offset - this.shift))
    this.found.push({ file: this.file, ...place, code, message, offset: offset ?? -1 })
  }

  /** Returns the warnings in file order. */
  listed(): Warning[] {
    const sorted = this.found.toSorted((a, b) => a.offset - b.offset).map(({ offset: _, ...warning }) => warning)
    if (sorted.length <= MAX_WARNINGS) return sorted
    const more = sorted.length - (MAX_WARNINGS - 1)
    const message = `${more} more ${more === 1 ? 'warning' : 'warnings'} about this file ${more === 1 ? 'is' : 'are'} not listed`
    return [...sorted.slice(0, MAX_WARNINGS - 1), { file: this.file, code: 'more_warnings', message }]
  }

  private place(offset: number): { line: number; column: number } {
    let low = 0
    let high = this.lineStarts.length - 1
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if ((this.lineStarts[middle] ?? 0) <= offset) low = middle
      else high = middle - 1
    }
    return { line: low + 1, column: offset - (this.lineStarts[low] ?? 0) + 1 }
  }
}

/**
 * Quotes the author's text in a warning. Shortens long text, and replaces all characters except printable ASCII with
 * "?".
 */
export function quoteText(text: string): string {
  const printable = text.slice(0, MAX_QUOTED + 1).replace(/[^\x20-\x7e]/g, '?')
  return `"${printable.length > MAX_QUOTED ? `${printable.slice(0, MAX_QUOTED)}…` : printable}"`
}
