import type { Parameter, Row } from '../../plugins/database/host.ts'

/** Messages from the host to the process of an embedded database. */
export type ToEmbedded =
  /** The first message. The response is `opened` or `failed`. */
  | { readonly kind: 'open'; readonly file: string; readonly bounds: EmbeddedBounds }
  /** Sent one at a time. The response is `answered` or `failed`. */
  | { readonly kind: 'query'; readonly sql: string; readonly parameters: readonly Parameter[] }

export type EmbeddedBounds = {
  readonly rows: number
  /** Maximum size of a response as JSON, in bytes. */
  readonly answerSize: number
  /** Maximum size of the file, in bytes. */
  readonly fileSize: number
}

/** Messages to the host. The host validates them, because the process runs untrusted SQL. */
export type FromEmbedded =
  | { readonly kind: 'opened' }
  | { readonly kind: 'answered'; readonly rows: readonly Row[] }
  | { readonly kind: 'failed'; readonly why: EmbeddedFailure; readonly message: string }

/**
 * Why a query failed. `rows`, `size`, `file`: it exceeded this limit. `second`: there is a second statement. `sql`:
 * SQLite reported an error.
 */
export type EmbeddedFailure = 'rows' | 'size' | 'file' | 'second' | 'sql'
