import type { Part, Piece } from './compiled-template.ts'
import { escapeLiteralAttribute } from './escape.ts'

/** Collects parts in order; adjacent strings are joined. */
export class PartList {
  private readonly list: Part[] = []
  private texts: string[] = []

  literal(text: string): void {
    if (text !== '') this.texts.push(text)
  }

  add(part: Exclude<Part, string>): void {
    this.flush()
    this.list.push(part)
  }

  /** Adds a list of pieces. `written` converts literal texts, and lookups become parts of the kind `at`. */
  pieces(pieces: readonly Piece[], at: 'text' | 'script', written: (text: string) => string): void {
    for (const piece of pieces) {
      if (typeof piece === 'string') this.literal(written(piece))
      else this.add({ at, lookup: piece })
    }
  }

  attribute(name: string, value: string): void {
    this.literal(` ${name}="${escapeLiteralAttribute(value)}"`)
  }

  finish(): readonly Part[] {
    this.flush()
    return this.list
  }

  private flush(): void {
    if (this.texts.length > 0) this.list.push(this.texts.join(''))
    this.texts = []
  }
}
