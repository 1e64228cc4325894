import { randomText } from '../../base/program/random-text.ts'
import { escapeValue } from '../../runtime/template/escape.ts'

/** The values of a login page that differ in each response. `passkey` is null if the page offers no passkeys. */
export type OwnValues = { readonly nonce: string; readonly formToken: string; readonly passkey: string | null }

/** Renders pages from a cache. Pages with the same `version` and `key` may differ only in `OwnValues`. */
export interface PageCache {
  /**
   * @param version the object that all other content of the page comes from
   * @param render called for each new page, and each time for a page that is too long for the cache
   */
  fill(version: object, key: string, own: OwnValues, render: (own: OwnValues) => string): Buffer
}

/** Maximum number of cached pages. */
const MOST_PAGES = 100
/** Maximum size of a cached page in bytes. */
const LONGEST_PAGE = 64_000

/** A page in parts: its text in UTF-8, and the names of the values between them. Null if it is too long. */
type Parts = readonly (Buffer | keyof OwnValues)[] | null

/** Caches pages in UTF-8, because rendering and encoding a page takes longer than all other work for its response. */
export function createPageCache(): PageCache {
  // They are random, so that no other text of a page is equal to them.
  const marks = { nonce: randomText(24), formToken: randomText(24), passkey: randomText(24) }
  const names = new Map(Object.entries(marks).map(([name, mark]) => [mark, name as keyof OwnValues]))
  const anyMark = new RegExp(`(${[...names.keys()].join('|')})`)
  /** A number for each version, because a new version of a solution can have the same name and hash. */
  const versions = new WeakMap<object, number>()
  let newest = 0
  const pages = new Map<string, Parts>()

  function numberOf(version: object): number {
    const known = versions.get(version)
    if (known !== undefined) return known
    versions.set(version, ++newest)
    return newest
  }

  function partsOf(page: string): Parts {
    if (Buffer.byteLength(page) > LONGEST_PAGE) return null
    return page.split(anyMark).map((text) => names.get(text) ?? Buffer.from(text))
  }

  function keep(key: string, parts: Parts): Parts {
    if (pages.size >= MOST_PAGES) pages.clear()
    pages.set(key, parts)
    return parts
  }

  return {
    fill(version, key, own, render) {
      const whole = `${numberOf(version)} ${key}`
      const known = pages.get(whole)
      const passkey = own.passkey === null ? null : marks.passkey
      const parts = known === undefined ? keep(whole, partsOf(render({ ...marks, passkey }))) : known
      if (parts === null) return Buffer.from(render(own))
      const bytes = {
        nonce: Buffer.from(escapeValue(own.nonce)),
        formToken: Buffer.from(escapeValue(own.formToken)),
        passkey: Buffer.from(escapeValue(own.passkey ?? '')),
      }
      return Buffer.concat(parts.map((part) => (typeof part === 'string' ? bytes[part] : part)))
    },
  }
}
