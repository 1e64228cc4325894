import { findPlaceholders } from './placeholders.ts'

/** The text of a string literal, or of a section of a template literal between its `${}`. Quotes are not included. */
export type StringText = { readonly start: number; readonly end: number; readonly kind: 'string' | 'template' }

/** Determines how to read a `/` after the last token. `unsure`: only a full parser could decide. */
type Before = 'operand' | 'operator' | 'unsure'

const BEFORE_REGEX: ReadonlySet<string> = new Set(
  'return typeof instanceof in new delete void throw case do else default extends'.split(' '),
)
/** Keywords whose parentheses are followed by a statement, so a `/` there starts a regular expression. */
const BEFORE_PARENTHESES: ReadonlySet<string> = new Set(['if', 'while', 'for', 'with'])
/** Names that are keywords only in some contexts. */
const CONTEXTUAL: ReadonlySet<string> = new Set(['of', 'yield', 'await'])

/**
 * Maximum number of ambiguous slashes. Chosen here: no login page's script has more of them, and each may require a
 * scan of the whole line.
 */
const MAX_UNSURE = 100

/**
 * Finds a script's string literals. It recognises comments, strings, template literals and regular expressions. It
 * stops at the first position where it cannot tell how a browser would continue. Skips placeholders in code, since they
 * will be left empty.
 */
export function findStrings(script: string, isModule: boolean): StringText[] {
  if (isModule && /<!--|-->/.test(script)) return []
  return new ScriptReader(script).read()
}

/** Finds the strings in a JSON text, up to the first unterminated one. */
export function findJsonStrings(text: string): StringText[] {
  const found: StringText[] = []
  const string = /"((?:[^"\\\n]|\\[^\n])*)(")?/g
  for (const match of text.matchAll(string)) {
    if (match[2] === undefined) break
    found.push({ start: match.index + 1, end: match.index + match[0].length - 1, kind: 'string' })
  }
  return found
}

class ScriptReader {
  private readonly script: string
  private readonly found: StringText[] = []
  private readonly placeholderEnds: ReadonlyMap<number, number>
  /** The number of open braces in each open `${` of a template literal. */
  private readonly braces: number[] = []
  /** For each open parenthesis: how to read a `/` after the closing one. */
  private readonly parentheses: Before[] = []
  private afterParentheses: Before = 'operand'
  private unsureSlashes = 0
  private at = 0
  private before: Before = 'operator'
  private lineStart = true
  private afterDot = false

  constructor(script: string) {
    this.script = script
    this.placeholderEnds = new Map(findPlaceholders(script).map(({ start, end }) => [start, end]))
  }

  read(): StringText[] {
    if (this.script.startsWith('#!')) this.skipLine()
    while (this.at < this.script.length) if (!this.token()) break
    return this.found
  }

  /** Reads one token. @returns false if it is unclear how a browser would continue */
  private token(): boolean {
    const character = this.script[this.at] as string
    const skipped = this.placeholderEnds.get(this.at)
    if (skipped !== undefined) return this.placeholder(skipped)
    if (/\s/.test(character)) return this.space(character)
    if (this.starts('//') || this.starts('<!--') || (this.lineStart && this.starts('-->'))) return this.skipLine()
    if (this.starts('/*')) return this.skipComment()
    this.lineStart = false
    if (character === '"' || character === "'") return this.string(character)
    if (character === '`') return this.template(this.at + 1)
    if (character === '/') return this.slash()
    const word = this.match(/\d[\w.]*|(?:(?!\s)[\w$\\\u0080-\uffff])+/y)
    if (word !== null) return this.word(word)
    return this.punctuator(character)
  }

  /** Removing a placeholder next to a name or a number would change that token. */
  private placeholder(end: number): boolean {
    const touches = /[\w$\\\u0080-\uffff]/
    if (touches.test(this.script[this.at - 1] ?? '') || touches.test(this.script[end] ?? '')) return false
    this.move(end, 'unsure')
    this.afterParentheses = 'unsure'
    return true
  }

  private space(character: string): boolean {
    if (/[\n\r\u2028\u2029]/.test(character)) this.lineStart = true
    this.at++
    return true
  }

  private skipLine(): boolean {
    this.at += this.match(/[^\n\r\u2028\u2029]*/y)?.length ?? 0
    return true
  }

  private skipComment(): boolean {
    const end = this.script.indexOf('*/', this.at + 2)
    if (end < 0) return false
    if (/[\n\r\u2028\u2029]/.test(this.script.slice(this.at, end))) this.lineStart = true
    this.at = end + 2
    return true
  }

  private string(quote: '"' | "'"): boolean {
    const body = this.match(quote === '"' ? /"(?:[^"\\\n\r]|\\[\s\S])*"/y : /'(?:[^'\\\n\r]|\\[\s\S])*'/y)
    if (body === null) return false
    this.found.push({ start: this.at + 1, end: this.at + body.length - 1, kind: 'string' })
    return this.move(this.at + body.length, 'operand')
  }

  /** Reads a template literal's text from `start` up to its end or its next `${`. */
  private template(start: number): boolean {
    this.at = start
    const body = this.match(/(?:[^`\\$]|\\[\s\S]|\$(?!\{))*(?:`|\$\{)/y)
    if (body === null) return false
    const ends = body.endsWith('`')
    this.found.push({ start, end: start + body.length - (ends ? 1 : 2), kind: 'template' })
    if (!ends) this.braces.push(0)
    return this.move(start + body.length, ends ? 'operand' : 'operator')
  }

  private slash(): boolean {
    if (this.before === 'operand') return this.move(this.at + 1, 'operator')
    const body = this.match(
      /\/(?:[^/\\[\n\r\u2028\u2029]|\\[^\n\r\u2028\u2029]|\[(?:[^\]\\\n\r\u2028\u2029]|\\[^\n\r\u2028\u2029])*\])+\//y,
    )
    if (this.before === 'operator') {
      return body !== null && this.move(this.at + body.length + this.flags(body.length), 'operand')
    }
    return this.unsureSlash(body)
  }

  /**
   * Reads a `/` that can be a division or start a regular expression, such as one after `)`. The reader continues only
   * if its state afterwards is the same in both cases.
   */
  private unsureSlash(regex: string | null): boolean {
    if (++this.unsureSlashes > MAX_UNSURE) return false
    if (regex === null) return this.move(this.at + 1, 'operator')
    if (/['"`{}()\\[\]*]|<!--|-->|%%/.test(regex) || regex.slice(1, -1).includes('/')) return false
    const after = this.script[this.at + regex.length]
    if (after === '/' || after === '*') return false
    return this.move(this.at + regex.length, 'unsure')
  }

  private flags(offset: number): number {
    const flags = /[\w$]*/y
    flags.lastIndex = this.at + offset
    return flags.exec(this.script)?.[0].length ?? 0
  }

  private word(word: string): boolean {
    const property = this.afterDot
    const before = property
      ? 'operand'
      : BEFORE_REGEX.has(word)
        ? 'operator'
        : CONTEXTUAL.has(word)
          ? 'unsure'
          : 'operand'
    this.move(this.at + word.length, before)
    if (!property && BEFORE_PARENTHESES.has(word)) this.afterParentheses = 'operator'
    if (CONTEXTUAL.has(word)) this.afterParentheses = 'unsure'
    return true
  }

  private punctuator(character: string): boolean {
    const open = this.braces.length - 1
    if (character === '{' && open >= 0) this.braces[open] = (this.braces[open] ?? 0) + 1
    if (character === '}' && open >= 0) {
      if (this.braces[open] === 0) {
        this.braces.pop()
        return this.template(this.at + 1)
      }
      this.braces[open] = (this.braces[open] ?? 0) - 1
    }
    if (this.starts('++') || this.starts('--')) return this.move(this.at + 2, 'unsure')
    if (this.starts('...')) return this.move(this.at + 3, 'operator')
    if (character === '(') this.parentheses.push(this.afterParentheses)
    this.move(this.at + 1, this.afterPunctuator(character))
    this.afterDot = character === '.'
    return true
  }

  private afterPunctuator(character: string): Before {
    if (character === ')') return this.parentheses.pop() ?? 'unsure'
    if (character === ']') return 'operand'
    return character === '}' ? 'unsure' : 'operator'
  }

  private move(to: number, before: Before): true {
    this.at = to
    this.before = before
    this.afterDot = false
    this.afterParentheses = 'operand'
    return true
  }

  private starts(text: string): boolean {
    return this.script.startsWith(text, this.at)
  }

  private match(pattern: RegExp): string | null {
    pattern.lastIndex = this.at
    return pattern.exec(this.script)?.[0] ?? null
  }
}
