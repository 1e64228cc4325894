import { parseFragment, type DefaultTreeAdapterTypes as Tree } from 'parse5'
import { attributePlace, attributeValue, isScript, isStyle } from './attribute-places.ts'
import type { CompiledTemplate, KeptSelect, Lookup, OptionValue } from './compiled-template.ts'
import { escapeLiteralAttribute, escapeLiteralText } from './escape.ts'
import { boxValue, type KeptField, keptField, optionValue } from './kept-fields.ts'
import { findLoginForm, type LoginForm } from './login-form.ts'
import { PartList } from './part-list.ts'
import { nodePlace, PlaceWarnings } from './place-warnings.ts'
import { findPlaceholders, hasPlaceholder, splitPlaceholders, withoutPlaceholders } from './placeholders.ts'
import { readScript, scriptKind } from './script-values.ts'
import {
  attributeName,
  childrenOf,
  type DocumentWriter,
  isHtml,
  isRawText,
  skipsNewline,
  walkDocument,
  writeDoctype,
  writtenName,
} from './serialise.ts'
import type { TemplateWarnings } from './template-warnings.ts'

/**
 * Attributes of a button or input that could submit the login form to another URL, or in a format that the host can't
 * read.
 */
const SENDS_ELSEWHERE: ReadonlySet<string> = new Set(['formaction', 'formmethod', 'formtarget', 'formenctype'])

const CODE_ADVICE =
  'in a script, values can be inserted only into string literals, and not right after an escape sequence; put the placeholder in quotes'
const DATA_ADVICE = 'values cannot be inserted into a script of this type; use type="application/json"'

/** Converts a document to parts, and warns about anything that the author should change. */
export function writeParts(document: Tree.Document, source: string, warnings: TemplateWarnings): CompiledTemplate {
  const writer = new PartsWriter(findLoginForm(document), source, warnings)
  walkDocument(document, writer)
  return writer.finish()
}

type OpenSelect = { readonly element: Tree.Element; readonly index: number; readonly options: OptionValue[] }

class PartsWriter implements DocumentWriter {
  private readonly parts = new PartList()
  private readonly selects: KeptSelect[] = []
  private readonly login: LoginForm
  private readonly warn: PlaceWarnings
  private select: OpenSelect | null = null
  /** The SVG script or style element that is open. Its content is code, even if it looks like markup. */
  private foreignCode: Tree.Element | null = null
  /** The textarea whose content has already been added as a part. */
  private keptText: Tree.Element | null = null

  constructor(login: LoginForm, source: string, warnings: TemplateWarnings) {
    this.login = login
    this.warn = new PlaceWarnings(login, source, warnings)
  }

  finish(): CompiledTemplate {
    return { parts: this.parts.finish(), selects: this.selects }
  }

  doctype(node: Tree.DocumentType): void {
    const all = `${node.name}${node.publicId}${node.systemId}`
    if (hasPlaceholder(all))
      this.warn.empty(all, nodePlace(node), 'the placeholder is part of the doctype; write <!DOCTYPE html>')
    const [name, publicId, systemId] = [node.name, node.publicId, node.systemId].map((text) =>
      withoutPlaceholders(text),
    )
    this.parts.literal(writeDoctype(name ?? '', publicId ?? '', systemId ?? ''))
  }

  comment(node: Tree.CommentNode): void {
    let data = node.data
    if (hasPlaceholder(data)) {
      this.warn.empty(data, nodePlace(node), 'the placeholder is part of a comment; remove it')
      data = withoutPlaceholders(data)
      if (/^-?>|--!?>|(?:-|--!)$/.test(data)) data = withoutPlaceholders(node.data, ' ')
    }
    this.parts.literal(`<!--${data}-->`)
  }

  text(node: Tree.TextNode, parent: Tree.Element | null): void {
    if (parent !== null && parent === this.keptText) return
    if (parent && isHtml(parent, 'script')) this.script(parent, node)
    else if (parent && isRawText(parent)) this.rawText(parent, node)
    else if (this.foreignCode) this.foreignText(node, parent)
    else this.parts.pieces(splitPlaceholders(node.value), 'text', escapeLiteralText)
  }

  open(element: Tree.Element): boolean {
    if (isHtml(element, 'input') && attributeValue(element, 'name') === 'csrf_token') return false
    const isCode = isScript(element) || isStyle(element)
    const kept = keptField(element)
    this.openTag(element)
    if (isCode) {
      this.parts.literal(' nonce="')
      this.parts.add({ at: 'nonce' })
      this.parts.literal('"')
    }
    this.attributes(element, kept)
    if (isCode && !isRawText(element)) this.foreignCode ??= element
    if (isStyle(element)) this.warn.style(element)
    this.parts.literal(startsWithNewline(element, kept) ? '>\n' : '>')
    this.inside(element, kept)
    return true
  }

  closing(element: Tree.Element): void {
    if (isHtml(element, 'head')) this.parts.add({ at: 'failed' })
    if (element === this.foreignCode) this.foreignCode = null
    if (element === this.select?.element) this.select = null
  }

  endTag(element: Tree.Element): void {
    this.parts.literal(`</${writtenName(element)}>`)
  }

  closed(element: Tree.Element): void {
    if (element === this.login.noticeAfter) this.parts.add({ at: 'notice' })
  }

  private openTag(element: Tree.Element): void {
    const name = writtenName(element)
    if (name !== element.tagName && hasPlaceholder(element.tagName)) {
      this.warn.empty(element.tagName, nodePlace(element), `the placeholder is part of a tag's name; write <${name}>`)
    }
    this.parts.literal(`<${name}`)
  }

  /** Adds the parts that must directly follow the start tag. */
  private inside(element: Tree.Element, kept: KeptField | null): void {
    if (element === this.login.form) {
      this.parts.add({ at: 'token' })
      if (!this.login.noticeAfter) this.parts.add({ at: 'notice' })
    }
    if (kept?.by === 'text') {
      const otherwise = splitPlaceholders(
        element.childNodes.map((node) => ('value' in node ? node.value : '')).join(''),
      )
      this.parts.add({ at: 'keptText', field: kept.field, otherwise })
      this.keptText = element
    }
    if (kept?.by === 'option' && !this.select) {
      const options: OptionValue[] = []
      this.select = { element, index: this.selects.length, options }
      this.selects.push({ field: kept.field, options })
    }
  }

  private attributes(element: Tree.Element, kept: KeptField | null): void {
    for (const attribute of element.attrs) {
      const name = attributeName(attribute)
      this.warn.attribute(element, name, attribute.value)
      if (this.isDropped(element, name, attribute.value)) continue
      if (kept?.by === 'value' && name === 'value') {
        this.parts.add({ at: 'keptValue', field: kept.field, otherwise: splitPlaceholders(attribute.value) })
      } else if (!this.isChoice(element, kept, name)) this.attribute(element, name, attribute.value)
    }
    this.insertedAttributes(element, kept)
  }

  /**
   * Whether the attribute is omitted. The host writes some attributes itself, and others would send the login
   * elsewhere.
   */
  private isDropped(element: Tree.Element, name: string, value: string): boolean {
    if (name.includes('%%') && hasPlaceholder(name)) return true
    if (name === 'nonce' && (isScript(element) || isStyle(element))) return true
    if (name === 'name' && value === 'csrf_token' && this.login.owned.has(element)) return true
    if (element === this.login.form) {
      if (name === 'enctype') return value.trim().toLowerCase() !== 'application/x-www-form-urlencoded'
      return name === 'action' || name === 'target' || name === 'method'
    }
    return this.login.owned.has(element) && SENDS_ELSEWHERE.has(name)
  }

  private isChoice(element: Tree.Element, kept: KeptField | null, name: string): boolean {
    return (kept?.by === 'checked' && name === 'checked') || (name === 'selected' && this.isKeptOption(element))
  }

  private isKeptOption(element: Tree.Element): boolean {
    return this.select !== null && isHtml(element, 'option')
  }

  private insertedAttributes(element: Tree.Element, kept: KeptField | null): void {
    if (element === this.login.form) this.parts.attribute('method', 'post')
    if (element === this.login.errorLabel && attributeValue(element, 'role') === null)
      this.parts.attribute('role', 'alert')
    if (kept?.by === 'value' && attributeValue(element, 'value') === null) {
      this.parts.add({ at: 'keptValue', field: kept.field, otherwise: null })
    }
    if (kept?.by === 'checked') {
      const otherwise = attributeValue(element, 'checked') !== null
      this.parts.add({ at: 'checked', field: kept.field, value: boxValue(element), otherwise })
    }
    if (this.select && this.isKeptOption(element)) {
      const { index, options } = this.select
      const otherwise = attributeValue(element, 'selected') !== null
      this.parts.add({ at: 'selected', select: index, option: options.length, otherwise })
      options.push(optionValue(element))
    }
  }

  private attribute(element: Tree.Element, name: string, value: string): void {
    const place = attributePlace(element, name)
    if (place.kind === 'none' || !hasPlaceholder(value)) {
      this.parts.attribute(name, place.kind === 'none' ? withoutPlaceholders(value) : value)
      return
    }
    this.parts.literal(` ${name}="`)
    const pieces = splitPlaceholders(value)
    if (place.kind === 'address') this.parts.add({ at: 'address', pieces, ownOrigin: place.ownOrigin })
    else this.parts.pieces(pieces, 'text', escapeLiteralAttribute)
    this.parts.literal('"')
  }

  private script(element: Tree.Element, node: Tree.TextNode): void {
    const kind = scriptKind(attributeValue(element, 'type'), attributeValue(element, 'language'))
    const { pieces, emptied } = readScript(node.value, kind)
    if (hasPlaceholder(node.value) && !staysOneElement(element, joinLiterals(pieces))) this.emptyRawText(element, node)
    else {
      this.parts.pieces(pieces, 'script', (text) => text)
      this.warn.emptied(node, emptied, kind === 'data' ? DATA_ADVICE : CODE_ADVICE)
    }
  }

  private rawText(element: Tree.Element, node: Tree.TextNode): void {
    const text = withoutPlaceholders(node.value)
    if (text !== node.value && !staysOneElement(element, text)) this.emptyRawText(element, node)
    else {
      this.parts.literal(text)
      const advice = `values cannot be inserted into <${element.tagName}>; use a class or an attribute`
      this.warn.emptied(node, findPlaceholders(node.value), advice)
    }
  }

  /**
   * Drops the whole text. Once its placeholders are removed, the remaining text would close its own element or another
   * one.
   */
  private emptyRawText(element: Tree.Element, node: Tree.TextNode): void {
    const advice = `removing the placeholder would change where <${element.tagName}> ends, so the whole element stays empty; move the placeholder out of it`
    this.warn.emptied(node, findPlaceholders(node.value), advice)
  }

  /** In SVG, the text of script and style is parsed as markup first, so it is escaped like any other text. */
  private foreignText(node: Tree.TextNode, parent: Tree.Element | null): void {
    const isWhole = parent !== null && parent === this.foreignCode && parent.childNodes.length === 1 && isScript(parent)
    const { pieces, emptied } = readScript(
      node.value,
      isWhole ? scriptKind(attributeValue(parent, 'type'), null) : 'data',
    )
    this.parts.pieces(pieces, 'script', escapeLiteralText)
    this.warn.emptied(node, emptied, CODE_ADVICE)
  }
}

/**
 * Whether the content starts with a newline, or with a value that might. The parser drops the first newline, so an
 * extra one must be written before such content.
 */
function startsWithNewline(element: Tree.Element, kept: KeptField | null): boolean {
  if (!skipsNewline(element)) return false
  const first = childrenOf(element)[0]
  const text = first?.nodeName === '#text' ? (first as Tree.TextNode).value : ''
  return kept !== null || text.startsWith('\n') || findPlaceholders(text)[0]?.start === 0
}

function joinLiterals(pieces: readonly (string | Lookup)[]): string {
  return pieces.filter((piece) => typeof piece === 'string').join('')
}

/** Whether a parser reads `text` back as the whole content of the element. */
function staysOneElement(element: Tree.Element, text: string): boolean {
  if (element.tagName === 'plaintext') return true
  const { childNodes } = parseFragment(`<${element.tagName}>${text}</${element.tagName}>`, { scriptingEnabled: false })
  const [only, ...others] = childNodes
  if (!only || others.length > 0 || !('tagName' in only)) return false
  const [content, ...more] = only.childNodes
  return more.length === 0 && (content === undefined ? text === '' : 'value' in content && content.value === text)
}
