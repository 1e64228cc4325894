import type { Parameter, Row } from '../../plugins/database/host.ts'

/** From the host to the process of an embedded database. */
export type ToEmbedded =
  /** The first message; answered by `opened` or `failed`. */
  | { readonly kind: 'open'; readonly file: string; readonly bounds: EmbeddedBounds }
  /** One at a time; answered by `answered` or `failed`. */
  | { readonly kind: 'query'; readonly sql: string; readonly parameters: readonly Parameter[] }

export type EmbeddedBounds = {
  readonly rows: number
  /** Of an answer as JSON, in bytes. */
  readonly answerSize: number
  /** Of the file, in bytes. */
  readonly fileSize: number
}

/** Back. The host checks it: the process runs SQL of people who are not trusted. */
export type FromEmbedded =
  | { readonly kind: 'opened' }
  | { readonly kind: 'answered'; readonly rows: readonly Row[] }
  | { readonly kind: 'failed'; readonly why: EmbeddedFailure; readonly message: string }

/** `rows`, `size`, `file`: over that bound. `second`: a second statement. `sql`: what SQLite says. */
export type EmbeddedFailure = 'rows' | 'size' | 'file' | 'second' | 'sql'
