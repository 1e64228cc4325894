const MAX_DEPTH = 32
const MAX_NUMBER_LENGTH = 400
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/

/** Keys that could modify a prototype if code copies the object carelessly. */
const PROTOTYPE_KEYS: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype'])

const ESCAPES: Readonly<Record<string, string>> = {
  '"': '"',
  '\\': '\\',
  '/': '/',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
}

export type JsonError = {
  readonly line: number
  readonly column: number
  readonly message: string
  /** Present if the text has more than `maxValues` values. */
  readonly isTooMany?: true
}

/** Decodes `bytes`; null if they are not UTF-8. A byte order mark stays in the text. */
export function decodeUtf8(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return null
  }
}

/**
 * Parses the JSON that a bundle may contain: no byte order mark, no duplicate keys, no prototype keys, at most
 * `maxDepth` levels, at most `maxValues` values (objects and lists count too). Objects are returned without a prototype,
 * so an absent key is always undefined.
 * @returns error: the first error; line and column count from 1, the column in UTF-16 units, as in editors
 */
export function parseStrictJson(
  text: string,
  maxDepth = MAX_DEPTH,
  maxValues = Number.POSITIVE_INFINITY,
): { value: unknown } | { error: JsonError } {
  const reader = new Reader(text, maxDepth, maxValues)
  try {
    return { value: reader.document() }
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    const { at, message, isTooMany } = error
    return { error: { ...lineAndColumn(text, at), message, ...(isTooMany ? { isTooMany } : {}) } }
  }
}

class Refusal extends Error {
  readonly at: number
  readonly isTooMany: boolean

  constructor(at: number, message: string, isTooMany: boolean) {
    super(message)
    this.at = at
    this.isTooMany = isTooMany
  }
}

/** Recursion is safe here, because the depth is limited. */
class Reader {
  private readonly text: string
  private readonly maxDepth: number
  private readonly maxValues: number
  private at = 0
  private values = 0

  constructor(text: string, maxDepth: number, maxValues: number) {
    this.text = text
    this.maxDepth = maxDepth
    this.maxValues = maxValues
  }

  document(): unknown {
    if (this.text.charCodeAt(0) === 0xfeff)
      this.refuse('the file starts with a byte order mark; save it as UTF-8 without one')
    this.skipSpace()
    const value = this.value(0)
    this.skipSpace()
    if (this.at < this.text.length) this.refuse(`expected the end of the file, found ${this.found()}`)
    return value
  }

  private value(depth: number): unknown {
    if (++this.values > this.maxValues) this.refuse(`there are more than ${this.maxValues} values`, this.at, true)
    switch (this.text[this.at]) {
      case '{':
        return this.object(this.deeper(depth))
      case '[':
        return this.array(this.deeper(depth))
      case '"':
        return this.string()
      case 't':
        return this.word('true', true)
      case 'f':
        return this.word('false', false)
      case 'n':
        return this.word('null', null)
      default:
        return this.number()
    }
  }

  private deeper(depth: number): number {
    if (depth >= this.maxDepth) this.refuse(`objects and lists are nested more than ${this.maxDepth} levels deep`)
    return depth + 1
  }

  private object(depth: number): unknown {
    const object: Record<string, unknown> = Object.create(null)
    this.at++
    this.skipSpace()
    if (this.take('}')) return object
    for (;;) {
      const keyAt = this.at
      if (this.text[keyAt] !== '"') this.refuse(`expected a key in double quotes, found ${this.found()}`)
      const key = this.string()
      if (PROTOTYPE_KEYS.has(key)) this.refuse(`the key ${shown(key)} is not allowed; use another name`, keyAt)
      if (Object.hasOwn(object, key)) this.refuse(`the key ${shown(key)} appears twice; remove or rename one`, keyAt)
      this.skipSpace()
      if (!this.take(':')) this.refuse(`expected ":", found ${this.found()}`)
      this.skipSpace()
      object[key] = this.value(depth)
      this.skipSpace()
      if (this.take('}')) return object
      if (!this.take(',')) this.refuse(`expected "," or "}", found ${this.found()}`)
      this.skipSpace()
    }
  }

  private array(depth: number): unknown {
    const array: unknown[] = []
    this.at++
    this.skipSpace()
    if (this.take(']')) return array
    for (;;) {
      array.push(this.value(depth))
      this.skipSpace()
      if (this.take(']')) return array
      if (!this.take(',')) this.refuse(`expected "," or "]", found ${this.found()}`)
      this.skipSpace()
    }
  }

  private string(): string {
    let before = ''
    let from = ++this.at
    for (;;) {
      const code = this.text.charCodeAt(this.at)
      if (Number.isNaN(code)) this.refuse('the file ends inside a string')
      if (code < 0x20)
        this.refuse('the string contains a line break or control character; write it as an escape such as \\n')
      if (code === 0x22 || code === 0x5c) {
        const part = this.text.slice(from, this.at)
        this.at++
        if (code === 0x22) return before + part
        before += part + this.escape()
        from = this.at
      } else {
        this.at++
      }
    }
  }

  private escape(): string {
    const letter = this.text[this.at] ?? ''
    if (letter === 'u') {
      const digits = this.text.slice(this.at + 1, this.at + 5)
      if (!/^[0-9a-fA-F]{4}$/.test(digits)) this.refuse('expected four hexadecimal digits after \\u')
      this.at += 5
      return String.fromCharCode(Number.parseInt(digits, 16))
    }
    if (!Object.hasOwn(ESCAPES, letter))
      this.refuse(`"\\" must not be followed by ${this.found()}; write "\\\\" for a backslash`)
    this.at++
    return ESCAPES[letter] as string
  }

  private word<T>(word: string, value: T): T {
    if (!this.text.startsWith(word, this.at)) this.refuse(`expected a value, found ${this.found()}`)
    this.at += word.length
    return value
  }

  private number(): number {
    let end = this.at
    while (isOfNumber(this.text.charCodeAt(end))) end++
    if (end === this.at) this.refuse(`expected a value, found ${this.found()}`)
    if (end - this.at > MAX_NUMBER_LENGTH) this.refuse(`the number is longer than ${MAX_NUMBER_LENGTH} characters`)
    const digits = this.text.slice(this.at, end)
    if (!NUMBER.test(digits)) this.refuse(`${shown(digits)} is not a number`)
    const number = Number(digits)
    if (!Number.isFinite(number)) this.refuse(`the number ${shown(digits)} is too large`)
    this.at = end
    return number
  }

  private take(character: string): boolean {
    if (this.text[this.at] !== character) return false
    this.at++
    return true
  }

  private skipSpace(): void {
    for (;;) {
      const code = this.text.charCodeAt(this.at)
      if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return
      this.at++
    }
  }

  private found(): string {
    const point = this.text.codePointAt(this.at)
    return point === undefined ? 'the end of the file' : shown(String.fromCodePoint(point))
  }

  private refuse(message: string, at = this.at, isTooMany = false): never {
    throw new Refusal(at, message, isTooMany)
  }
}

/** Whether the character can occur in a number: a digit, `+`, `-`, `.`, `e` or `E`. */
function isOfNumber(code: number): boolean {
  return (code >= 0x30 && code <= 0x39) || code === 0x2b || code === 0x2d || code === 0x2e || (code | 0x20) === 0x65
}

function shown(text: string): string {
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text)
}

/** Counts LF, CR LF and CR as line ends, as editors do. */
export function lineAndColumn(text: string, at: number): { line: number; column: number } {
  let line = 1
  let start = 0
  for (let i = 0; i < at; i++) {
    const code = text.charCodeAt(i)
    if (code === 0x0a || (code === 0x0d && text.charCodeAt(i + 1) !== 0x0a)) {
      line++
      start = i + 1
    }
  }
  return { line, column: at - start + 1 }
}

/** Returns the offset of a position in the text. The reverse of `lineAndColumn`. */
export function offsetOf(text: string, { line, column }: { readonly line: number; readonly column: number }): number {
  let start = 0
  for (let passed = 1, i = 0; passed < line && i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code !== 0x0a && (code !== 0x0d || text.charCodeAt(i + 1) === 0x0a)) continue
    passed++
    start = i + 1
  }
  return start + column - 1
}
