import { defaultTreeAdapter, parse, type DefaultTreeAdapterTypes as Tree } from 'parse5'
import { isElement, isHtml, serialiseDocument } from './serialise.ts'

/**
 * Chosen here: what the parser may build from one template. HTML repeats formatting elements (`<b>` without end,
 * then many `<p>`), so that the source's size alone bounds neither time nor memory. 50,000 nested elements pass.
 */
const MAX_ELEMENTS = 60_000
const MAX_ATTRIBUTES = 60_000
const MAX_ATTRIBUTE_TEXT = 1_000_000

/** Chosen here: how often what the parser made of a template is written and read again until it stays the same. */
const MAX_ROUNDS = 4

const DOCTYPE = '<!DOCTYPE html>'

export type ParsedTemplate = {
  /** As the author wrote it. `shift` is how many characters were put in front, so that offsets can be put right. */
  readonly authored: Tree.Document
  readonly shift: number
  /** What a browser reads from our own output: written and read again it is the same, so every place is what it seems. */
  readonly stable: Tree.Document
}

/** @returns a text that says why, when the template is too large or is read differently each time it is written */
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
  return { refused: 'its elements are nested in a way that HTML cannot express; check it with an HTML validator' }
}

/**
 * A noscript in head ends, with scripting off, before content such as `<p>` or `<img>`, which would then be shown to
 * everyone. Where that happened the body is made to start in front of it, so that all of it stays inside.
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

/** Scripting is off, so that the content of noscript is markup and its styles get nonces too. */
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
        if (++elements > MAX_ELEMENTS) throw new TooLarge(`it has more than ${MAX_ELEMENTS} elements`)
        if (attributes > MAX_ATTRIBUTES) throw new TooLarge(`it has more than ${MAX_ATTRIBUTES} attributes`)
        if (text > MAX_ATTRIBUTE_TEXT)
          throw new TooLarge(`its attributes are longer than ${MAX_ATTRIBUTE_TEXT} characters`)
        return defaultTreeAdapter.createElement(name, namespace, attrs)
      },
    },
  })
}

class TooLarge extends Error {}
