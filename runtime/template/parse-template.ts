import { defaultTreeAdapter, parse, type DefaultTreeAdapterTypes as Tree } from 'parse5'
import { isElement, isHtml, serialiseDocument } from './serialise.ts'

/**
 * Limits for the tree that the parser builds from one template. Chosen here: HTML parsers repeat formatting elements,
 * for example if an unclosed `<b>` precedes many `<p>`. A limit for the source's size therefore limits neither time nor
 * memory. 50,000 nested elements are accepted.
 */
const MAX_ELEMENTS = 60_000
const MAX_ATTRIBUTES = 60_000
const MAX_ATTRIBUTE_TEXT = 1_000_000

/**
 * The tree is serialised and parsed again until it no longer changes, at most this many times. Chosen here: valid HTML
 * is stable after the first round; only invalid nesting needs more rounds.
 */
const MAX_ROUNDS = 4

const DOCTYPE = '<!DOCTYPE html>'

export type ParsedTemplate = {
  /**
   * The tree of the source as the author wrote it. Subtract `shift` from its offsets: this many characters were added
   * at the start.
   */
  readonly authored: Tree.Document
  readonly shift: number
  /**
   * The tree that a browser parses from our output. Serialising and parsing it again gives the same tree, so every
   * position is reliable.
   */
  readonly stable: Tree.Document
}

/**
 * @returns `refused` with the reason, if the template is too large, or changes each time it is serialised and parsed
 * again
 */
export function parseTemplate(source: string): ParsedTemplate | { readonly refused: string } {
  try {
    return parseTwice(source)
  } catch (error) {
    if (error instanceof TooLarge) return { refused: error.message }
    throw error
  }
}

function parseTwice(source: string): ParsedTemplate | { readonly refused: string } {
  let authored = parseBounded(source)
  const shift = authored.childNodes.some((node) => node.nodeName === '#documentType') ? 0 : DOCTYPE.length
  if (shift > 0) authored = parseBounded(DOCTYPE + source)
  let written = serialiseDocument(withNoscriptInBody(authored, shift > 0 ? DOCTYPE + source : source))
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const stable = parseBounded(written)
    const again = serialiseDocument(stable)
    if (again === written) return { authored, shift, stable }
    written = again
  }
  return { refused: 'the elements are nested in a way that HTML does not allow; check the page with an HTML validator' }
}

/**
 * If scripting is off, a noscript in head ends before content such as `<p>` or `<img>`. That content would then be
 * shown to everyone. In this case, start the body before the noscript, so that all of its content stays inside.
 */
function withNoscriptInBody(document: Tree.Document, source: string): Tree.Document {
  const root = document.childNodes.filter(isElement)[0]
  const head = root?.childNodes.filter(isElement).find((element) => isHtml(element, 'head'))
  const split = head?.childNodes
    .filter(isElement)
    .find((element) => isHtml(element, 'noscript') && !element.sourceCodeLocation?.endTag)
  const start = split?.sourceCodeLocation?.startOffset
  return start === undefined ? document : parseBounded(`${source.slice(0, start)}</head><body>${source.slice(start)}`)
}

/** Turns scripting off, so that a noscript's content is parsed as markup and its styles get nonces too. */
function parseBounded(source: string): Tree.Document {
  let elements = 0
  let attributes = 0
  let text = 0
  return parse(source, {
    sourceCodeLocationInfo: true,
    scriptingEnabled: false,
    treeAdapter: {
      ...defaultTreeAdapter,
      createElement(name, namespace, attrs) {
        attributes += attrs.length
        for (const { name, value } of attrs) text += name.length + value.length
        if (++elements > MAX_ELEMENTS) throw new TooLarge(`the page has more than ${MAX_ELEMENTS} elements`)
        if (attributes > MAX_ATTRIBUTES) throw new TooLarge(`the page has more than ${MAX_ATTRIBUTES} attributes`)
        if (text > MAX_ATTRIBUTE_TEXT)
          throw new TooLarge(`the page’s attributes have more than ${MAX_ATTRIBUTE_TEXT} characters in total`)
        return defaultTreeAdapter.createElement(name, namespace, attrs)
      },
    },
  })
}

class TooLarge extends Error {}
