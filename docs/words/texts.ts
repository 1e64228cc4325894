import { execFileSync } from 'node:child_process'
import { lstatSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseSync } from 'rolldown/utils'

/** Where people read a text: on a page, in the docs, as a message of the program, in a comment, or as a test's name. */
export type TextKind = 'ui' | 'docs' | 'message' | 'comment' | 'test'
/** `line` is where the text starts, from 1. Whitespace is collapsed, and `{…}` stands for a value. */
export type Text = { readonly kind: TextKind; readonly file: string; readonly line: number; readonly text: string }

type Node = { readonly type: string; readonly start: number; readonly [key: string]: unknown }
type Comment = { readonly type: string; readonly value: string; readonly start: number; readonly end: number }

export const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** Files that are generated, or quoted from elsewhere. */
const NOT_OURS = /^(package-lock\.json|LICENSE|docs\/(schema|reference)\/|docs\/words\/|test\/fixtures\/)/
/** Strings with fewer words are identifiers, labels of code or parts of a sentence. */
const FEWEST_WORDS = 3
/** Strings that are SQL, HTML or JavaScript, which nobody reads as prose. */
const CODE =
  /^(select|insert into|update|delete from|create|alter|drop|pragma|lock table|SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER|DROP|PRAGMA|SET|SHOW) |^<\/?[a-z!]|^\(function|=> \{/

/** All texts of the project that a person reads, in English. */
export function allTexts(): Text[] {
  const files = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: ROOT,
    encoding: 'utf8',
  })
  return files
    .split('\0')
    .filter((file) => lstatSync(join(ROOT, file), { throwIfNoEntry: false })?.isFile() && !NOT_OURS.test(file))
    .flatMap((file) => textsOf(file, readFileSync(join(ROOT, file), 'utf8')))
}

/** @param file its path in the project, which determines how it is read */
export function textsOf(file: string, source: string): Text[] {
  if (/(^|\/)i18n\/en\.json$|\/texts\/.*\/en\.json$/.test(file)) return uiTexts(file, source)
  if (file.endsWith('.md')) return docsTexts(file, source)
  if (/\.[jt]s$/.test(file)) return codeTexts(file, source)
  if (/\.(ya?ml|sh|cfg|service|env)$|(^|\/)(Dockerfile|\.dockerignore|\.gitignore)$|^\.ci\//.test(file)) {
    return joinLines(file, source, /^\s*#(?!!) ?(.*)$/)
  }
  if (file.endsWith('.css')) return blockComments(file, source, /\/\*([\s\S]*?)\*\//g)
  if (file.endsWith('.eta')) return blockComments(file, source, /<%_?\s*\/\*([\s\S]*?)\*\/\s*_?%>/g)
  return []
}

function uiTexts(file: string, source: string): Text[] {
  return source.split('\n').flatMap((content, index) => {
    const text = /^\s*"[^"]+": "(.*)",?$/.exec(content)?.[1]
    return text === undefined ? [] : [{ kind: 'ui', file, line: index + 1, text: JSON.parse(`"${text}"`) }]
  })
}

/** Each paragraph, list item and table cell is a text. Code is left out. */
function docsTexts(file: string, source: string): Text[] {
  const prose = source
    .replace(/^(```|~~~)[\s\S]*?^\1/gm, (block) => block.replace(/[^\n]/g, ''))
    .replace(/<!--[\s\S]*?-->/g, (comment) => comment.replace(/[^\n]/g, ''))
  const texts: { line: number; parts: string[] }[] = []
  let isOpen = false
  for (const [index, content] of prose.split('\n').entries()) {
    const isRow = content.trimStart().startsWith('|')
    if (content.trim() === '' || isRow || /^\s*([-*#>]|\d+\.)\s/.test(content)) isOpen = false
    if (content.trim() === '') continue
    const cells = isRow ? content.split('|').slice(1, -1) : [content.replace(/^\s*([-*#>]+|\d+\.)\s/, '')]
    const last = texts.at(-1)
    if (isOpen && last) last.parts.push(...cells)
    else texts.push(...cells.map((cell) => ({ line: index + 1, parts: [cell] })))
    isOpen = !isRow && !content.startsWith('#')
  }
  return texts.flatMap(({ line, parts }) => {
    const text = withoutCode(plain(parts.join(' ').replace(/\]\([^)]*\)/g, ']')))
    return /[A-Za-z]{2}/.test(text) ? [{ kind: 'docs', file, line, text }] : []
  })
}

function codeTexts(file: string, source: string): Text[] {
  const { program, comments } = parseSync(file, source)
  const lineAt = lineFinder(source)
  const isTest = /\.test\.[jt]s$/.test(file)
  const texts: Text[] = commentTexts(source, comments).map(({ start, text }) => {
    return { kind: 'comment', file, line: lineAt(start), text }
  })
  const visit = (node: unknown, name: string): void => {
    if (Array.isArray(node)) {
      for (const one of node) visit(one, name)
    } else if (isNode(node)) {
      if (node.type.startsWith('Import') || (node.type.startsWith('Export') && node.source)) return
      const text = stringOf(node)
      if (text !== null && isProse(text)) {
        const kind = isTest && /^(test|it|describe)/.test(name) ? 'test' : 'message'
        if (kind === 'test' || !file.startsWith('test/'))
          texts.push({ kind, file, line: lineAt(node.start), text: plain(text) })
      }
      const called =
        node.type === 'CallExpression' ? nameOf(node.callee) : node.type === 'ArrowFunctionExpression' ? '' : name
      // The strings that `+` joins are one text, so only their expressions are visited.
      for (const part of text === null ? [node] : partsOf(node)) {
        if (part !== node && stringOf(part) === null) visit(part, called)
        else for (const [key, value] of Object.entries(part)) if (key !== 'type') visit(value, called)
      }
    }
  }
  visit(program, '')
  return texts
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && typeof (value as { type?: unknown }).type === 'string'
}

/** Also returns `test` for `test.for(…)(…)`. */
function nameOf(callee: unknown): string {
  if (!isNode(callee)) return ''
  return typeof callee.name === 'string' ? callee.name : nameOf(callee.object ?? callee.callee ?? null)
}

/** @returns the parts that `+` joins; the node itself if it is not such an expression */
function partsOf(node: Node): Node[] {
  if (node.type !== 'BinaryExpression' || node.operator !== '+') return [node]
  return [node.left, node.right].filter(isNode).flatMap(partsOf)
}

function isTemplate({ type }: Node): boolean {
  return type === 'TemplateLiteral'
}

/** @returns null if the node is not a string, a template or a concatenation with one of these */
function stringOf(node: Node): string | null {
  if (node.type === 'Literal') return typeof node.value === 'string' ? node.value : null
  const parts = partsOf(node)
  if (parts.length > 1) {
    const texts = parts.map(stringOf)
    return texts.every((text) => text === null) ? null : texts.map((text) => text ?? '{…}').join('')
  }
  if (!isTemplate(node)) return null
  return (node.quasis as { value: { cooked: string | null } }[]).map(({ value }) => value.cooked ?? '').join('{…}')
}

function isProse(text: string): boolean {
  return text.split(/\s+/).length >= FEWEST_WORDS && /[a-z]{2}/i.test(text) && !CODE.test(text.trim())
}

/** Consecutive line comments are one text. */
function commentTexts(source: string, comments: readonly Comment[]): { start: number; text: string }[] {
  const texts: { start: number; end: number; isLine: boolean; text: string }[] = []
  for (const { type, value, start, end } of comments) {
    const isLine = type === 'Line'
    const last = texts.at(-1)
    if (isLine && last?.isLine && /^[ \t]*\n[ \t]*$/.test(source.slice(last.end, start))) {
      last.text += ` ${value}`
      last.end = end
    } else {
      texts.push({ start, end, isLine, text: isLine ? value : value.replace(/^\s*\*/gm, '') })
    }
  }
  return texts
    .map(({ start, text }) => ({ start, text: withoutCode(plain(text)) }))
    .filter(({ text }) => text !== '' && !text.startsWith('biome-ignore') && !text.startsWith('<reference'))
}

function joinLines(file: string, source: string, pattern: RegExp): Text[] {
  const texts: { line: number; text: string }[] = []
  let isOpen = false
  for (const [index, content] of source.split('\n').entries()) {
    const text = pattern.exec(content)?.[1]
    if (text === undefined) {
      isOpen = false
      continue
    }
    const last = texts.at(-1)
    if (isOpen && last) last.text += ` ${text}`
    else texts.push({ line: index + 1, text })
    isOpen = true
  }
  return texts.map(({ line, text }) => ({ kind: 'comment', file, line, text: plain(text) }))
}

function blockComments(file: string, source: string, pattern: RegExp): Text[] {
  const lineAt = lineFinder(source)
  return [...source.matchAll(pattern)].map((found) => {
    return { kind: 'comment', file, line: lineAt(found.index), text: plain(found[1] ?? '') }
  })
}

function lineFinder(source: string): (offset: number) => number {
  const ends = [...source.matchAll(/\n/g)].map(({ index }) => index)
  return (offset) => {
    const after = ends.findIndex((end) => end >= offset)
    return (after === -1 ? ends.length : after) + 1
  }
}

/** Removes code, because the rules for phrases apply only to prose. */
function withoutCode(text: string): string {
  return text.replace(/`[^`]*`/g, '`…`')
}

function plain(text: string): string {
  return text.replace(/\s+/g, ' ').trim()
}
