import type { ColumnDataType, ColumnDefinitionBuilder, Dialect, DialectAdapter, RawBuilder } from 'kysely'

/** The four kinds of databases, by their names in the settings. */
export const KIND_NAMES = ['embedded', 'alpha', 'beta', 'gamma'] as const
export type KindName = (typeof KIND_NAMES)[number]
export type ServerKindName = Exclude<KindName, 'embedded'>

/** The address and credentials of a database server: `DB_ALPHA_*`, `DB_BETA_*`, `DB_GAMMA_*`. */
export type DatabaseServer = {
  readonly host: string
  readonly port: number
  readonly username: string
  readonly password: string
  /** `on` encrypts; `verify` also checks the server's certificate. */
  readonly tls: 'off' | 'on' | 'verify'
}

/** A database with any tables, for untyped statements. */
export type OpenDatabase = Parameters<RawBuilder<unknown>['execute']>[0]

type ColumnType = ColumnDataType | RawBuilder<unknown>

/** Column types of the platform's tables. Both types of text are compared by code point. */
export type ColumnTypes = {
  /** Text that is part of a key or an index: at most 255 characters. */
  readonly key: ColumnType
  /** Text of any length. */
  readonly text: ColumnType
  readonly bytes: ColumnType
  /** An auto-increment column needs this type, and the modifier `counts`. */
  readonly id: ColumnType
  readonly counts: (column: ColumnDefinitionBuilder) => ColumnDefinitionBuilder
}

/**
 * Why a server cannot be used:
 * - `away`: it is unreachable.
 * - `account`: it rejects the account.
 * - `no-database`: the database is missing.
 * - `rights`: the account lacks permissions.
 * - `tls`: the server doesn't offer TLS, or its certificate cannot be trusted.
 */
export type Failure = 'away' | 'account' | 'no-database' | 'rights' | 'tls'

/**
 * The differences between the kinds of database. Each kind has a file that exports this object and creates the Kysely
 * dialect.
 */
export interface DatabaseKind {
  readonly name: KindName
  /** The adapter of Kysely's dialect: it identifies the kind of an open database. */
  readonly adapter: abstract new () => DialectAdapter
  /** The upsert clause of an insert; null if it is not supported. */
  readonly conflict: 'on conflict' | 'on duplicate key' | null
  /** The clause that limits the rows of a query. */
  readonly rowLimit: 'limit' | 'top'
  /** The function that returns the byte length of a column without reading it. */
  readonly byteLength: 'octet_length' | 'datalength'
  /** Called once, before the migrations, because the types can depend on the server's version. */
  readonly columns: (db: OpenDatabase) => Promise<ColumnTypes>
  readonly isUniqueViolation: (error: unknown) => boolean
  /** Whether a statement failed because the disk is full. */
  readonly isFull: (error: unknown) => boolean
  /** Whether a deadlock rolled the statement back, so that it can be retried. */
  readonly isDeadlock: (error: unknown) => boolean
  /**
   * Whether the error means that an earlier, interrupted startup has already run this migration step. Only for kinds
   * that can't roll back schema changes.
   */
  readonly isDoneAlready?: (error: unknown) => boolean
}

/** A database server, reached over the network. */
export interface ServerKind extends DatabaseKind {
  readonly name: ServerKindName
  /** The display name, such as `PostgreSQL`. */
  readonly product: string
  /**
   * A database that always exists. The host connects to it to create another database. Null if no connection to a
   * database is needed for that.
   */
  readonly systemDatabase: string | null
  /**
   * Creates the dialect with a pool of up to `connections` connections. The pool connects on first use, and reconnects
   * after an outage. The driver is imported only here, because loading it takes time and memory.
   */
  readonly createDialect: (server: DatabaseServer, database: string | null, options?: PoolOptions) => Promise<Dialect>
  readonly createDatabase: (name: string) => RawBuilder<unknown>
  /** Whether `createDatabase` failed because another host created the database at the same time. */
  readonly isDatabaseThere: (error: unknown) => boolean
  readonly failureOf: (error: unknown) => Failure | null
  /**
   * Checks that the database meets the platform's requirements.
   * @returns the problem, worded as the end of a sentence; null if there is none
   */
  readonly check: (db: OpenDatabase) => Promise<string | null>
}

export type PoolOptions = {
  /** Maximum number of connections; default 10. */
  readonly connections?: number
  /** Timeout of one statement in ms; default 60 s. After a timeout, the connection is discarded. */
  readonly statementTime?: number
}

export const DEFAULT_POOL = { connections: 10, statementTime: 60_000 } as const

/** Timeout for a connection, in ms. */
export const CONNECT_TIME = 5000

/**
 * Node.js error codes that mean that the server is unreachable. EBADMSG means that something that is not a database
 * server of this kind answers (postgres-messages.ts).
 */
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
  'EBADMSG',
])

export function isNetworkError(error: unknown): boolean {
  return AWAY.has((error as { code?: unknown } | null)?.code)
}

/**
 * Node.js error codes for a certificate that cannot be trusted: those of OpenSSL's checks, and the code for a wrong
 * host name.
 */
const CERTIFICATE = /_CERT|CERT_|^ERR_TLS_|UNABLE_TO_VERIFY|^ERR_SSL_/

/** Whether the error means that the certificate or the encryption is the problem. */
export function isTlsError(error: unknown): boolean {
  return CERTIFICATE.test(String((error as { code?: unknown } | null)?.code ?? ''))
}
