import { ScriptError } from '../../runtime/plugin.ts'

export type ServerKind = 'embedded' | 'alpha' | 'beta' | 'gamma'

/** A script's statement, split at its parameter placeholders. */
export type SqlText = {
  /** The text around placeholders: there is one more piece than placeholders. */
  readonly pieces: readonly string[]
  /** The first words in upper case, such as `SELECT` and `NAME`, without quoted text. */
  readonly words: readonly string[]
  /** Whether anything except white space and comments follows a semicolon. */
  readonly hasSecond: boolean
}

/** The quote and comment syntax of each kind of server. It is used only to determine which `?` are placeholders. */
type Lexicon = {
  /** Maps opening marks to closing marks. A doubled closing mark escapes itself. */
  readonly quotes: ReadonlyMap<string, string>
  /** Whether a backslash in quotes escapes the next character. */
  readonly backslash: boolean
  readonly dollarQuotes: boolean
  readonly nestedComments: boolean
  /** Whether `#` starts a comment. If it does, `--` starts one only before white space. */
  readonly hashComments: boolean
}

const STANDARD = new Map([
  ["'", "'"],
  ['"', '"'],
])
const PLAIN: Lexicon = {
  quotes: STANDARD,
  backslash: false,
  dollarQuotes: false,
  nestedComments: false,
  hashComments: false,
}
const LEXICONS: Readonly<Record<ServerKind, Lexicon>> = {
  embedded: { ...PLAIN, quotes: new Map([...STANDARD, ['`', '`'], ['[', ']']]) },
  alpha: { ...PLAIN, dollarQuotes: true, nestedComments: true },
  beta: { ...PLAIN, quotes: new Map([...STANDARD, ['[', ']']]), nestedComments: true },
  gamma: { ...PLAIN, quotes: new Map([...STANDARD, ['`', '`']]), backslash: true, hashComments: true },
}

/**
 * The maximum number of words that identify a statement: `SET LOCAL SESSION AUTHORIZATION`, `CREATE OR REPLACE USER`.
 */
const MOST_WORDS = 4

const DOLLAR = /\$(?:[A-Za-z_\u0080-\uffff][A-Za-z0-9_\u0080-\uffff]*)?\$/y

/**
 * Finds parameter placeholders. In PostgreSQL, `??` is a literal question mark, for operators such as `?|`. This runs
 * in the host on texts of up to 64 kB, so its run time is linear in the length of the text.
 * @throws ScriptError for numbered placeholders, and for comments that MySQL would execute
 */
export function readSql(kind: ServerKind, sql: string): SqlText {
  const lexicon = LEXICONS[kind]
  const pieces: string[] = []
  let piece = ''
  let from = 0
  const words: string[] = []
  let ended = false
  let hasSecond = false
  let at = 0
  while (at < sql.length) {
    const mark = sql[at] as string
    const space = skipped(lexicon, sql, at, mark)
    if (space > at) {
      if (kind === 'gamma' && mark === '/' && /^\/\*M?!/.test(sql.slice(at, at + 4))) throw executableComment()
      at = space
      continue
    }
    if (mark === ';') ended = true
    else if (ended) hasSecond = true
    if (mark !== '?') {
      const end = tokenEnd(lexicon, sql, at, mark)
      if (words.length < MOST_WORDS && isLetter(sql.charCodeAt(at))) words.push(sql.slice(at, end).toUpperCase())
      at = end
      continue
    }
    piece += sql.slice(from, at)
    if (kind === 'alpha' && sql[at + 1] === '?') {
      piece += '?'
      at += 2
    } else {
      if (isDigit(sql.charCodeAt(at + 1))) {
        throw new ScriptError('numbered parameters are not supported: write ? without a number')
      }
      pieces.push(piece)
      piece = ''
      at++
    }
    from = at
  }
  pieces.push(piece + sql.slice(from))
  return { pieces, words, hasSecond }
}

/** The statement with placeholders in the server's syntax: `$1`, `@p1` or `?`. */
export function writeSql(kind: ServerKind, { pieces }: SqlText): string {
  if (kind === 'embedded' || kind === 'gamma') return pieces.join('?')
  const prefix = kind === 'alpha' ? '$' : '@p'
  // The space separates a placeholder from text that follows it directly.
  return pieces.map((piece, index) => (index === 0 ? piece : `${prefix}${index} ${piece}`)).join('')
}

/** Statements that would end or outlive the transaction that the host opens for each query. */
const TRANSACTIONS = new Set([
  'BEGIN',
  'START',
  'COMMIT',
  'ROLLBACK',
  'END',
  'ABORT',
  'SAVEPOINT',
  'RELEASE',
  'PREPARE',
  'XA',
  'SAVE',
])

/**
 * Statements that show or change accounts and their permissions, or that run a string as SQL, which could do the same.
 * This is only defence in depth: on a server, a script can do anything that the granted account is allowed to do.
 */
const ABOUT_ACCOUNTS = new RegExp(
  '^(?:' +
    [
      '(?:GRANT|REVOKE|DENY|REASSIGN)',
      '(?:CREATE|ALTER|DROP|RENAME)(?: OR REPLACE)? (?:USER|ROLE|GROUP|LOGIN|CREDENTIAL|AUTHORIZATION)',
      'CREATE SERVER ROLE|ALTER (?:SERVER ROLE|DEFAULT PRIVILEGES)',
      'SHOW (?:GRANTS|CREATE USER|PROCESSLIST|FULL PROCESSLIST)',
      'SET (?:SESSION |LOCAL )?(?:PASSWORD|ROLE|DEFAULT ROLE|SESSION AUTHORIZATION)',
      'SET STATEMENT|EXECUTE IMMEDIATE|EXEC(?:UTE)? AS',
    ].join('|') +
    ')(?: |$)',
)

/**
 * @throws ScriptError unless there is exactly one statement, with a value for each placeholder. A statement such as
 * CREATE TRIGGER can contain a body of several statements. For these, the server decides: SQLite, PostgreSQL and MySQL
 * accept only one statement.
 */
export function checkSql(kind: ServerKind, { pieces, words, hasSecond }: SqlText, parameters: number): void {
  const [keyword = ''] = words
  if (keyword === '') throw new ScriptError('the SQL contains no statement')
  if (hasSecond && (kind === 'beta' || keyword !== 'CREATE')) {
    throw new ScriptError('a query must be a single statement, but there is text after its semicolon')
  }
  if (TRANSACTIONS.has(keyword)) {
    throw new ScriptError(`each query is its own transaction, so ${keyword} is not available`)
  }
  const account = kind === 'embedded' ? null : ABOUT_ACCOUNTS.exec(words.join(' '))
  if (account !== null) {
    throw new ScriptError(
      `scripts cannot use ${account[0].trim()}: only the operator manages accounts and their permissions`,
    )
  }
  const places = pieces.length - 1
  if (places !== parameters) {
    throw new ScriptError(
      `the number of placeholders (?) in the SQL (${places}) differs from the number of parameters (${parameters})`,
    )
  }
}

/** The end of the white space or comment that starts at `at`, or `at` itself if there is none. */
function skipped({ nestedComments, hashComments }: Lexicon, sql: string, at: number, mark: string): number {
  if (isSpace(sql.charCodeAt(at))) return at + 1
  if (mark === '/') return sql[at + 1] === '*' ? commentEnd(sql, at, nestedComments) : at
  if (mark !== '-' && mark !== '#') return at
  const isDashes = mark === '-' && sql[at + 1] === '-'
  const isLine = isDashes ? !hashComments || !(sql.charCodeAt(at + 2) > SPACE) : mark === '#' && hashComments
  if (!isLine) return at
  const end = sql.indexOf('\n', at)
  return end < 0 ? sql.length : end + 1
}

function commentEnd(sql: string, from: number, nested: boolean): number {
  let depth = 1
  for (let at = from + 2; at < sql.length; at++) {
    if (sql[at] === '*' && sql[at + 1] === '/') {
      at++
      if (--depth === 0) return at + 1
    } else if (nested && sql[at] === '/' && sql[at + 1] === '*') {
      at++
      depth++
    }
  }
  return sql.length
}

function tokenEnd(lexicon: Lexicon, sql: string, at: number, mark: string): number {
  const close = lexicon.quotes.get(mark)
  if (close !== undefined) return quoteEnd(sql, at, close, lexicon.backslash && mark !== '`')
  if (lexicon.dollarQuotes && mark === '$') {
    const length = lengthAt(DOLLAR, sql, at)
    if (length === 0) return at + 1
    const end = sql.indexOf(sql.slice(at, at + length), at + length)
    return end < 0 ? sql.length : end + length
  }
  // In PostgreSQL, E'…' is a string with backslash escapes.
  if (lexicon.dollarQuotes && (mark === 'e' || mark === 'E') && sql[at + 1] === "'") {
    return quoteEnd(sql, at + 1, "'", true)
  }
  // A `$` inside a word does not start a quote.
  let end = at + 1
  if (isWord(sql.charCodeAt(at))) while (isWord(sql.charCodeAt(end)) || sql[end] === '$') end++
  return end
}

/** The end of a quote. An unclosed quote extends to the end of the text; the server reports the error. */
function quoteEnd(sql: string, from: number, close: string, backslash: boolean): number {
  for (let at = from + 1; at < sql.length; at++) {
    if (backslash && sql[at] === '\\') at++
    else if (sql[at] === close) {
      if (sql[at + 1] !== close) return at + 1
      at++
    }
  }
  return sql.length
}

/** The length of a sticky pattern's match at `at`; 0 if it does not match. */
function lengthAt(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at
  return pattern.test(text) ? pattern.lastIndex - at : 0
}

const SPACE = 0x20

/** Servers treat only these six characters as white space; other Unicode spaces are part of a word. */
function isSpace(code: number): boolean {
  return code === SPACE || (code >= 9 && code <= 13)
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39
}

function isLetter(code: number): boolean {
  return (code >= 0x41 && code <= 0x5a) || (code >= 0x61 && code <= 0x7a)
}

function isWord(code: number): boolean {
  return isLetter(code) || isDigit(code) || code === 0x5f || code >= 0x80
}

function executableComment(): ScriptError {
  return new ScriptError('comments that begin with /*! or /*M! are executed by the server, so they are not allowed')
}
