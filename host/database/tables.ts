import type { Generated } from 'kysely'

/** The tables of the platform's database. Times are epoch milliseconds; JSON is kept as text. */
export type Tables = {
  platform: { key: string; value: string }
  solutions: { name: string; active_sha256: string | null; created_at: number; deleted_at: number | null }
  solution_versions: {
    solution: string
    sha256: string
    version: string
    title: string
    type: string
    authenticator: string
    listed: number
    /** A `PreparedSolution` as JSON. */
    prepared: string
    /** The bundle as it was uploaded. */
    bundle: Uint8Array
    bytes: number
    uploaded_at: number
  }
  media: { solution: string; sha256: string; path: string; etag: string; content: Uint8Array }
  solution_log: {
    id: Generated<number>
    solution: string
    time: number
    level: string
    message: string
    code: string | null
    file: string | null
    line: number | null
    column: number | null
    correlation_id: string | null
  }
  sessions: {
    /** SHA-256 of the cookie's value, so that the table alone signs nobody in. */
    id_hash: string
    public_id: string
    solution: string
    username: string
    uid: string
    permissions: string
    tenant: string | null
    locale: string
    address: string
    created_at: number
    last_seen_at: number
    ended_at: number | null
  }
}
