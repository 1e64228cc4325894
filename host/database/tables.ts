import type { Generated, Kysely } from 'kysely'
import type { Tables } from '../../base/database/tables.ts'
import type { MailTables } from '../../base/mail/tables.ts'

/**
 * The tables of a host's database. Some of them are shared with the control center. Times are epoch milliseconds; JSON
 * is stored as text. All migrations are in base/database/migrations.ts, because the control center's database has the
 * host's tables too, unused.
 */
export interface HostTables extends Tables, Pick<MailTables, 'host_mails' | 'host_mail_counts'> {
  solutions: { name: string; active_sha256: string | null; created_at: number; deleted_at: number | null }
  solution_versions: {
    solution: string
    sha256: string
    version: string
    title: string
    type: string
    authenticator: string
    listed: number
    /** A `PreparedSolution` as JSON, written and read by host/solutions/stored-solution.ts. */
    prepared: string
    bundle: Uint8Array
    bytes: number
    uploaded_at: number
  }
  media: { solution: string; sha256: string; path: string; etag: string; content: Uint8Array }
  /** A second copy of each large media file, split into pieces. See host/solutions/media-pieces.ts. */
  media_pieces: { solution: string; sha256: string; path: string; piece: number; content: Uint8Array }
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
    /** Number of characters in the message; 0 for lines that were written before this column existed. */
    size: number
  }
  /** A solution's grants as JSON, with encrypted passwords. */
  grants: { solution: string; value: string }
  /** Encrypted with the platform's key. `hosts` is JSON. */
  secrets: { solution: string; name: string; value: string; hosts: string; updated_at: number }
  api_tokens: {
    id: string
    name: string
    token_hash: string
    scopes: string
    created_at: number
    expires_at: number | null
    /** The permissions and tenant that apply when the token calls an endpoint, as JSON; null if there are none. */
    permissions: string | null
    tenant: string | null
  }
  audit: {
    id: Generated<number>
    time: number
    actor: string
    action: string
    target: string | null
    solution: string | null
    outcome: string
    address: string
    /** Only written by older hosts; see `correlation`. */
    correlation_id: string | null
    correlation: string | null
  }
  /** Runs of jobs: see host/jobs/job-runs.ts. */
  job_runs: {
    id: string
    solution: string
    job: string
    state: string
    /** Prevents duplicate runs. It is the hash of the run's due time or key, or the run's id if it has neither. */
    once_key: string
    /** While the run is in progress, one of the job's `atOnce` slots; otherwise the run's id. */
    slot: string
    /** `tenant`, `data` and `result` are JSON or null. `data` is erased once the run has succeeded. */
    tenant: string | null
    data: string | null
    result: string | null
    /** Why the last attempt failed: a `RunFailure` as JSON. */
    failure: string | null
    /** Number of attempts so far, including a running one. */
    attempt: number
    missed: number
    scheduled_for: number | null
    /** The earliest time when the run may start. */
    due_at: number
    created_at: number
    started_at: number | null
    ended_at: number | null
    /**
     * Identifies the attempt that a host is running; null if none is running. After `lease_until`, another host may
     * start the run again.
     */
    lease: string | null
    lease_until: number | null
    /** Set when someone cancels a run in progress. */
    cancelled_at: number | null
  }
  /** The due times of a job up to `checked_until` have been handled. `schedule` includes the time zone. */
  job_schedules: { solution: string; job: string; schedule: string; checked_until: number }
  job_pauses: { solution: string; paused_at: number }
  /** The operator's sign-in policy for a solution, as JSON. */
  sign_in_policies: { solution: string; value: string; updated_at: number }
  /** The settings of a directory (LDAP) as JSON, with the bind account's password encrypted. */
  directories: { name: string; value: string; updated_at: number }
  /** The operator's OAuth settings for a solution, as JSON. */
  oauth_settings: { solution: string; value: string; updated_at: number }
  /** A sign-in in progress at a provider. `content` is encrypted, and empty after use. */
  oauth_transactions: {
    id: string
    solution: string
    network: string
    /** SHA-256 of the transaction's cookie. */
    browser_hash: string
    /** Path and query of the page that opens after the sign-in. */
    return_to: string
    content: string
    created_at: number
    used_at: number | null
  }
  /**
   * A successful sign-in at a provider. The hashes are compared with the provider's logout requests. `content` is
   * encrypted.
   */
  provider_logins: {
    id: string
    solution: string
    client_hash: string
    subject_hash: string
    sid_hash: string | null
    content: string
    refreshed_at: number
    /** When a host started to refresh the provider's tokens; null if none is refreshing them. */
    refreshing_since: number | null
    created_at: number
    ended_at: number | null
  }
  /** A browser that is signed in to the admin pages. */
  admin_sessions: {
    /** SHA-256 of the cookie's value. */
    id_hash: string
    /** A fingerprint of the admin account's name and password, or `token:{id}` if an API token signed in. */
    account: string
    address: string
    created_at: number
    last_seen_at: number
    /** When the operator last confirmed their identity; null if an older version of the host started the session. */
    confirmed_at: number | null
  }
  /** A version of a solution that someone is editing in the workbench. It never runs for users. */
  drafts: {
    id: string
    solution: string
    /** The version that the draft changes; null for a new solution. */
    base_sha256: string | null
    /** The creator: `admin` or `token:{id}`. */
    owner: string
    /** Incremented with each change. A change is rejected if its sender has read an older revision. */
    revision: number
    created_at: number
    changed_at: number
  }
  /** The files in which a draft differs from its base. `etag` is empty if the draft deletes the base's file. */
  draft_files: { draft: string; path: string; etag: string; content: Uint8Array }
  /** Login pages for PLATFORM_CLOUD as received from the control center; `content` is a `LoginPageAnswer` as JSON. */
  cloud_login_pages: { solution: string; content: string; tag: string | null; source: string; checked_at: number }
}

export type HostDatabase = Kysely<HostTables>
