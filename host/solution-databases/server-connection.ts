import type { DatabaseServer } from '../../base/database/kind.ts'
import { inTime } from '../../base/program/in-time.ts'
import type { Parameter, Row } from '../../plugins/database/host.ts'

/** A database on one of the operator's servers, and the account to use. */
export type Target = DatabaseServer & { readonly database: string }

export type ServerQuery = {
  /** The statement, with placeholders in the server's syntax. */
  readonly sql: string
  readonly parameters: readonly Parameter[]
  /** JSON text that is set inside the query's transaction and cleared after it; null for none. */
  readonly tenant: string | null
  /** Timeout in ms after which the server cancels the query. */
  readonly time: number
  /** Called with each row as it arrives; throwing aborts the query. */
  readonly onRow: (columns: readonly string[], values: readonly Row[string][]) => void
}

/** A connection, which runs one query at a time. */
export interface ServerConnection {
  /** Runs one statement in a separate transaction. */
  run(query: ServerQuery): Promise<void>
  /** Resets the session, so that session settings made by a statement don't affect the next user. */
  reset(): Promise<void>
  /** Closes the connection immediately. `running` also stops the query on servers that would otherwise continue it. */
  destroy(running: boolean): void
  isOpen(): boolean
  /** Number of bytes read from the network, so that a huge value is noticed while it arrives. */
  bytesRead(): number
}

/** The operations that differ between kinds of servers. */
export interface QueryServer {
  /** Loads the driver when it is first used, because loading takes time and memory. */
  readonly connect: (target: Target) => Promise<ServerConnection>
  /** The server's message about the statement; null if the error did not come from the server. */
  readonly messageOf: (error: unknown) => string | null
  /** Whether the server cancelled the query because of the timeout. */
  readonly isTimeout: (error: unknown) => boolean
}

/** Connection timeout in ms. */
export const CONNECT_TIME = 2000

/** @throws Error if `work` takes longer than `time` ms */
export function within<T>(work: Promise<T>, time: number): Promise<T> {
  return inTime(time, work, () => new Error('the server did not respond in time'))
}
