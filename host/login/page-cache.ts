import { randomText } from '../../base/program/random-text.ts'
import { escapeValue } from '../../runtime/template/escape.ts'

/** The values of a login page that differ in each response. `passkey` is null if the page offers no passkeys. */
export type OwnValues = { readonly nonce: string; readonly formToken: string; readonly passkey: string | null }

/** Pages by key, together at most 6.4 million characters. */
const MOST_PAGES = 100
const LONGEST_PAGE = 64_000

/**
 * Caches pages as bytes, because filling in and encoding a page takes longer than all other work for its response.
 * @returns a function that returns the page with these values. It calls `render` for each new `key`, and for long
 * pages. Pages with the same key may differ only in `OwnValues`.
 */
export function createPageCache(): (key: string, own: OwnValues, render: (own: OwnValues) => string) => Buffer {
  // Random, so that nothing else on a page is equal to them.
  const marks = { nonce: randomText(24), formToken: randomText(24), passkey: randomText(24) }
  const places = new Map(Object.entries(marks).map(([name, mark]) => [mark, name as keyof OwnValues]))
  const anyMark = new RegExp(`(${[...places.keys()].join('|')})`)
  const cache = new Map<string, readonly (Buffer | keyof OwnValues)[]>()

  function piecesOf(page: string) {
    return page.split(anyMark).map((piece) => places.get(piece) ?? Buffer.from(piece))
  }

  return (key, own, render) => {
    let pieces = cache.get(key)
    if (pieces === undefined) {
      const page = render({ ...marks, passkey: own.passkey === null ? null : marks.passkey })
      pieces = piecesOf(page)
      if (cache.size >= MOST_PAGES) cache.clear()
      if (page.length <= LONGEST_PAGE) cache.set(key, pieces)
    }
    const bytes = {
      nonce: Buffer.from(own.nonce),
      formToken: Buffer.from(own.formToken),
      passkey: Buffer.from(escapeValue(own.passkey ?? '')),
    }
    return Buffer.concat(pieces.map((piece) => (typeof piece === 'string' ? bytes[piece] : piece)))
  }
}
