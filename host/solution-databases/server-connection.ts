import type { DatabaseServer } from '../../base/database/kind.ts'
import type { Parameter, Row } from '../../plugins/database/host.ts'

/** A database on a server of the operator, with the account to use. */
export type Target = DatabaseServer & { readonly database: string }

/** What a query is run with. */
export type ServerQuery = {
  /** With places in the server's own spelling. */
  readonly sql: string
  readonly parameters: readonly Parameter[]
  /** JSON text, set inside the query's transaction and cleared after it; null when there is none. */
  readonly tenant: string | null
  /** After so long, in ms, the server gives up by itself. */
  readonly time: number
  /** Takes each row when it comes; what it throws ends the query. */
  readonly onRow: (columns: readonly string[], values: readonly Row[string][]) => void
}

/** One connection. It runs one query at a time. */
export interface ServerConnection {
  /** Runs one statement as a transaction of its own. */
  run(query: ServerQuery): Promise<void>
  /** Makes it as new, so that nothing that a statement set for its session is there for the next user's. */
  reset(): Promise<void>
  /** Ends it at once; `running`: with what runs at the server, where that goes on by itself. */
  destroy(running: boolean): void
  isOpen(): boolean
  /** Of the network, so that a huge value is noticed while it arrives. */
  bytesRead(): number
}

/** What one kind of server does in its own way. */
export interface QueryServer {
  /** Loads the server's driver, which takes time and memory, and so only where it is used. */
  readonly connect: (target: Target) => Promise<ServerConnection>
  /** What the server itself said of the statement; null when the error is none of the server's. */
  readonly messageOf: (error: unknown) => string | null
  /** Whether the server gave up because of the time. */
  readonly isTimeout: (error: unknown) => boolean
}

/** Until a connection is there, in ms. */
export const CONNECT_TIME = 2000
