import type { ColumnDataType, ColumnDefinitionBuilder, Dialect, DialectAdapter, RawBuilder } from 'kysely'

/** The four kinds of databases, in the words of the settings. */
export const KIND_NAMES = ['embedded', 'alpha', 'beta', 'gamma'] as const
export type KindName = (typeof KIND_NAMES)[number]
export type ServerKindName = Exclude<KindName, 'embedded'>

/** Where a database server is and how to sign in to it: `DB_ALPHA_*`, `DB_BETA_*`, `DB_GAMMA_*`. */
export type DatabaseServer = {
  readonly host: string
  readonly port: number
  readonly username: string
  readonly password: string
  /** `on` encrypts, `verify` checks the server's certificate too. */
  readonly tls: 'off' | 'on' | 'verify'
}

/** A database of any tables, for statements without types. */
export type OpenDatabase = Parameters<RawBuilder<unknown>['execute']>[0]

type ColumnType = ColumnDataType | RawBuilder<unknown>

/** What the columns of the platform's tables are called. Text of both types compares by code point. */
export type ColumnTypes = {
  /** Text that is part of a key or an index: at most 255 characters. */
  readonly key: ColumnType
  /** Text of any length. */
  readonly text: ColumnType
  readonly bytes: ColumnType
  /** What numbers rows by itself: a type, and how a column of it is told to count. */
  readonly id: ColumnType
  readonly counts: (column: ColumnDefinitionBuilder) => ColumnDefinitionBuilder
}

/**
 * Why a server cannot be used: it is not there, it refuses the account, the database is missing, rights are missing, it
 * offers no TLS or a certificate that cannot be trusted.
 */
export type Failure = 'away' | 'account' | 'no-database' | 'rights' | 'tls'

/** What one kind of database does in its own way. Each kind's file exports one, and the maker of its Kysely dialect. */
export interface DatabaseKind {
  readonly name: KindName
  /** The adapter that Kysely's dialect has: it tells of which kind an open database is. */
  readonly adapter: abstract new () => DialectAdapter
  /** How an insert says what to do where the row exists; null: it cannot. */
  readonly conflict: 'on conflict' | 'on duplicate key' | null
  /** How a query says how many rows it wants. */
  readonly rowLimit: 'limit' | 'top'
  /** The function that counts the bytes of a column without reading them. */
  readonly byteLength: 'octet_length' | 'datalength'
  /** Asked once, before the migrations: a server's version may decide. */
  readonly columns: (db: OpenDatabase) => Promise<ColumnTypes>
  readonly isUniqueViolation: (error: unknown) => boolean
  /** Whether a statement failed because the disk is full. */
  readonly isFull: (error: unknown) => boolean
  /** Two statements waited for one another and this one was undone: it may be tried again. */
  readonly isDeadlock: (error: unknown) => boolean
  /** Whether a step of a migration was done by a start that was cut off; only where schema changes cannot be undone. */
  readonly isDoneAlready?: (error: unknown) => boolean
}

/** A kind that is reached over the network. */
export interface ServerKind extends DatabaseKind {
  readonly name: ServerKindName
  /** For people: `PostgreSQL`. */
  readonly product: string
  /** The database that is always there, to create others from; null: none is needed. */
  readonly systemDatabase: string | null
  /**
   * The dialect with a pool of at most `connections`. It connects when it is used, and again after the server was away.
   * Loads the server's driver, which takes time and memory, and so only where it is used.
   */
  readonly createDialect: (server: DatabaseServer, database: string | null, options?: PoolOptions) => Promise<Dialect>
  readonly createDatabase: (name: string) => RawBuilder<unknown>
  /** Whether `createDatabase` failed because another host made it at the same time. */
  readonly isDatabaseThere: (error: unknown) => boolean
  readonly failureOf: (error: unknown) => Failure | null
  /** What must be so for the platform's data. @returns what is wrong, as the end of a sentence, or null */
  readonly check: (db: OpenDatabase) => Promise<string | null>
}

export type PoolOptions = {
  /** Default 10. */
  readonly connections?: number
  /** One statement may take this long, in ms, before its connection is given up; default 60 s. */
  readonly statementTime?: number
}

export const DEFAULT_POOL = { connections: 10, statementTime: 60_000 } as const

/** A connection must be there within this time, in ms. */
export const CONNECT_TIME = 5000

/** Codes by which Node.js says that the other side is not there. */
const AWAY: ReadonlySet<unknown> = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'ETIMEDOUT',
  'EPIPE',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EHOSTDOWN',
  'ENETDOWN',
])

/** Whether it is the network that failed. */
export function isNetworkError(error: unknown): boolean {
  return AWAY.has((error as { code?: unknown } | null)?.code)
}

/** Codes by which Node.js says that a certificate cannot be trusted: those of OpenSSL's checks, and a wrong name. */
const CERTIFICATE = /_CERT|CERT_|^ERR_TLS_|UNABLE_TO_VERIFY|^ERR_SSL_/

/** Whether it is the certificate or the encryption that failed. */
export function isTlsError(error: unknown): boolean {
  return CERTIFICATE.test(String((error as { code?: unknown } | null)?.code ?? ''))
}
