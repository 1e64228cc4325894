import { ScriptError } from '../../runtime/plugin.ts'

export type ServerKind = 'embedded' | 'alpha' | 'beta' | 'gamma'

/** A statement as the script wrote it, with the places where parameters go. */
export type SqlText = {
  /** The text between the places: one piece more than there are places. */
  readonly pieces: readonly string[]
  /** Its first words in capitals, such as `SELECT` and `NAME`, without what is quoted. */
  readonly words: readonly string[]
  /** Whether something other than white space and comments follows a semicolon. */
  readonly hasSecond: boolean
}

/** What the kinds of servers take for quotes and comments. It decides where a `?` is a place, nothing else. */
type Lexicon = {
  /** Closing mark by opening mark; inside, the closing mark is doubled. */
  readonly quotes: ReadonlyMap<string, string>
  /** Whether a backslash in quotes takes the next character with it. */
  readonly backslash: boolean
  readonly dollarQuotes: boolean
  readonly nestedComments: boolean
  /** `#` begins a comment, and `--` only before white space. */
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

/** The most words that identify a statement: `SET LOCAL SESSION AUTHORIZATION`, `CREATE OR REPLACE USER`. */
const MOST_WORDS = 4

const DOLLAR = /\$(?:[A-Za-z_\u0080-\uffff][A-Za-z0-9_\u0080-\uffff]*)?\$/y

/**
 * Finds the places of parameters. In PostgreSQL `??` is a question mark of the SQL itself, for operators such as `?|`.
 * It runs in the host on texts of up to 64 kB, so it takes each of their characters once.
 * @throws ScriptError for a place with a number, and for comments that MySQL would execute
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
        throw new ScriptError('parameters are written ?, without a number')
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

/** The statement in the server's own spelling of places: `$1`, `@p1` or `?`. */
export function writeSql(kind: ServerKind, { pieces }: SqlText): string {
  if (kind === 'embedded' || kind === 'gamma') return pieces.join('?')
  const prefix = kind === 'alpha' ? '$' : '@p'
  // The white space keeps a place apart from what is written right behind it.
  return pieces.map((piece, index) => (index === 0 ? piece : `${prefix}${index} ${piece}`)).join('')
}

/** Statements that would end or keep open what the host opened for the one query. */
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
 * Statements that show or change accounts and their rights, or that run a string which could be one. Defense in depth only:
 * on a server, a script can do whatever the granted account may do.
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
 * @throws ScriptError unless it is one statement with a value for each place. Where a body of statements may be part of
 *   one (CREATE FUNCTION, CREATE TRIGGER), the server decides: SQLite, PostgreSQL and MySQL take one statement only.
 */
export function checkSql(kind: ServerKind, { pieces, words, hasSecond }: SqlText, parameters: number): void {
  const [keyword = ''] = words
  if (keyword === '') throw new ScriptError('the SQL holds no statement')
  if (hasSecond && (kind === 'beta' || keyword !== 'CREATE')) {
    throw new ScriptError('a query is one statement, but something follows its semicolon')
  }
  if (TRANSACTIONS.has(keyword)) {
    throw new ScriptError(`each query is a transaction of its own, so there is no ${keyword}`)
  }
  const account = kind === 'embedded' ? null : ABOUT_ACCOUNTS.exec(words.join(' '))
  if (account !== null) {
    throw new ScriptError(
      `scripts cannot use ${account[0].trim()}: only the operator manages accounts and their rights`,
    )
  }
  const places = pieces.length - 1
  if (places !== parameters) {
    throw new ScriptError(`the SQL has ${places} places ? for parameters, but ${parameters} were given`)
  }
}

/** Where white space and comments that begin here end; `at` itself when there are none. */
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
  // PostgreSQL: E'…' is a string with backslashes.
  if (lexicon.dollarQuotes && (mark === 'e' || mark === 'E') && sql[at + 1] === "'") {
    return quoteEnd(sql, at + 1, "'", true)
  }
  // A `$` in a word begins no quote, and a word may not end right before one.
  let end = at + 1
  if (isWord(sql.charCodeAt(at))) while (isWord(sql.charCodeAt(end)) || sql[end] === '$') end++
  return end
}

/** An unclosed quote reaches to the end: the server says so. */
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

/** How much a sticky pattern matches there; 0 when it does not. */
function lengthAt(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at
  return pattern.test(text) ? pattern.lastIndex - at : 0
}

const SPACE = 0x20

/** The servers take the first six for white space; whatever else Unicode calls so is part of a word. */
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
  return new ScriptError('comments that begin with /*! or /*M! are executed by the server, so they are refused')
}
