import { html, type DefaultTreeAdapterTypes as Tree } from 'parse5'
import { escapeLiteralAttribute, escapeLiteralText } from './escape.ts'
import { hasPlaceholder } from './placeholders.ts'

const VOID: ReadonlySet<string> = new Set(
  'area base basefont bgsound br col embed frame hr img input keygen link meta param source track wbr'.split(' '),
)

/**
 * Parsers don't decode character references in these elements' content. noscript is not one of them, since it is parsed
 * with scripting off.
 */
const RAW_TEXT: ReadonlySet<string> = new Set('style script xmp iframe noembed noframes plaintext'.split(' '))

/** The parser drops a newline after these start tags. */
const SKIPS_NEWLINE: ReadonlySet<string> = new Set(['pre', 'textarea', 'listing'])

const TABLE_PARTS: ReadonlySet<string> = new Set(['table', 'tbody', 'thead', 'tfoot', 'tr', 'colgroup'])

export function isHtml(element: Tree.Element, name: string): boolean {
  return element.tagName === name && element.namespaceURI === html.NS.HTML
}

export function isRawText(element: Tree.Element): boolean {
  return element.namespaceURI === html.NS.HTML && RAW_TEXT.has(element.tagName)
}

export function skipsNewline(element: Tree.Element): boolean {
  return element.namespaceURI === html.NS.HTML && SKIPS_NEWLINE.has(element.tagName)
}

/**
 * Whether the parser moves this element's text, and most of its child elements, in front of the table ("foster
 * parenting").
 */
export function isTablePart(element: Tree.Element): boolean {
  return element.namespaceURI === html.NS.HTML && TABLE_PARTS.has(element.tagName)
}

export function isElement(node: Tree.Node): node is Tree.Element {
  return 'tagName' in node
}

export function childrenOf(element: Tree.Element): readonly Tree.ChildNode[] {
  return isHtml(element, 'template') ? (element as Tree.Template).content.childNodes : element.childNodes
}

/** Its methods are called for each node in document order. */
export interface DocumentWriter {
  doctype(node: Tree.DocumentType): void
  comment(node: Tree.CommentNode): void
  text(node: Tree.TextNode, parent: Tree.Element | null): void
  /** Writes the start tag. @returns false to omit the element with all its content */
  open(element: Tree.Element): boolean
  /** Called before the end tag. */
  closing(element: Tree.Element): void
  endTag(element: Tree.Element): void
  /** Called after the end tag, when everything that belongs to the element has been written. */
  closed(element: Tree.Element): void
}

type OpenElement = { readonly element: Tree.Element | null; readonly nodes: readonly Tree.ChildNode[]; index: number }

/**
 * Walks a document without recursion, so that deep documents don't exhaust the stack. Two elements are exceptions to
 * the order of the tree. `plaintext` has no end tag, so nothing follows it. A form directly inside a table has no
 * children in the tree, but the fields that follow it belong to it. Its end tag is therefore written after the table.
 */
export function walkDocument(document: Tree.Document, writer: DocumentWriter): void {
  const open: OpenElement[] = [{ element: null, nodes: document.childNodes, index: 0 }]
  let tableForm: Tree.Element | null = null
  let tables = 0
  for (let top = open.at(-1); top; top = open.at(-1)) {
    const node = top.nodes[top.index++]
    if (node === undefined) {
      const { element } = top
      open.pop()
      if (!element) continue
      writer.closing(element)
      if (isHtml(element, 'plaintext')) return
      if (isEmptyTableForm(element)) tableForm = element
      else if (!isVoid(element)) writer.endTag(element)
      if (isHtml(element, 'table') && --tables === 0 && tableForm) {
        writer.endTag(tableForm)
        tableForm = null
      }
      writer.closed(element)
    } else if (isElement(node)) {
      if (!writer.open(node)) continue
      if (isHtml(node, 'table')) tables++
      open.push({ element: node, nodes: childrenOf(node), index: 0 })
    } else if (node.nodeName === '#text') writer.text(node as Tree.TextNode, top.element)
    else if (node.nodeName === '#comment') writer.comment(node as Tree.CommentNode)
    else writer.doctype(node as Tree.DocumentType)
  }
}

function isVoid(element: Tree.Element): boolean {
  return element.namespaceURI === html.NS.HTML && VOID.has(element.tagName)
}

export function isEmptyTableForm(element: Tree.Element): boolean {
  const parent = element.parentNode
  return (
    isHtml(element, 'form') &&
    element.childNodes.length === 0 &&
    parent !== null &&
    isElement(parent) &&
    isTablePart(parent)
  )
}

/**
 * Returns the element name to write. A name that contains a placeholder is replaced, since the rest of the name could
 * be another element's name.
 */
export function writtenName(element: Tree.Element): string {
  if (!hasPlaceholder(element.tagName)) return element.tagName
  return element.namespaceURI === html.NS.HTML ? 'span' : 'g'
}

/** An attribute's name with its prefix, as in `xlink:href`. */
export function attributeName({ name, namespace, prefix }: Tree.Element['attrs'][number]): string {
  if (!namespace || (namespace === html.NS.XMLNS && name === 'xmlns')) return name
  return `${prefix || (namespace === html.NS.XML ? 'xml' : 'xlink')}:${name}`
}

export function writeDoctype(name: string, publicId: string, systemId: string): string {
  const ids = publicId !== '' ? ` PUBLIC ${quote(publicId)}` : systemId !== '' ? ' SYSTEM' : ''
  return `<!DOCTYPE ${name}${ids}${systemId === '' ? '' : ` ${quote(systemId)}`}>`
}

/** Quotes an identifier. An identifier that contains a double quote was written between single quotes. */
function quote(id: string): string {
  return id.includes('"') ? `'${id.replaceAll("'", '')}'` : `"${id}"`
}

/** Writes a document as HTML. Parsing the HTML returns the same tree, unless no HTML can produce that tree. */
export function serialiseDocument(document: Tree.Document): string {
  const output: string[] = []
  walkDocument(document, {
    doctype: (node) => output.push(writeDoctype(node.name, node.publicId, node.systemId)),
    comment: (node) => output.push(`<!--${node.data}-->`),
    text: (node, parent) => output.push(parent && isRawText(parent) ? node.value : escapeLiteralText(node.value)),
    open: (element) => {
      output.push(`<${element.tagName}`)
      for (const attr of element.attrs) output.push(` ${attributeName(attr)}="${escapeLiteralAttribute(attr.value)}"`)
      output.push(startsWithNewline(element) ? '>\n' : '>')
      return true
    },
    closing: () => {},
    endTag: (element) => output.push(`</${element.tagName}>`),
    closed: () => {},
  })
  return output.join('')
}

function startsWithNewline(element: Tree.Element): boolean {
  const first = element.childNodes[0]
  return skipsNewline(element) && first?.nodeName === '#text' && (first as Tree.TextNode).value.startsWith('\n')
}
