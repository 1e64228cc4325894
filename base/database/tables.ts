/**
 * The tables of the platform's database that both services use. Each service adds its own: `HostTables`, `CenterTables`.
 * Times are epoch milliseconds; JSON is stored as text.
 */
export interface Tables {
  platform: { key: string; value: string }
  sessions: {
    /** SHA-256 of the cookie's value, so that a leaked table cannot be used to sign in. */
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
    /** The source of the account: 'users' (the users table) or '' (the solution's authenticator). */
    source: string
    /** The remembered login that created this session or was created with it, or null. */
    selector: string | null
    /** The related row of `provider_logins`, or null. */
    provider_login: string | null
  }
  users: {
    uid: string
    username: string
    /** The unique key: `usernameKey` of base/accounts/users.ts. */
    username_key: string
    display_name: string | null
    email: string | null
    /** Argon2id in PHC string format. If null, the user can't sign in with a password. */
    password_hash: string | null
    enabled: number
    must_change_password: number
    password_changed_at: number | null
    last_login_at: number | null
    /** Failed password attempts since the last sign-in. */
    failed_count: number
    created_at: number
  }
  /** `solution` is '' if the permission applies to all solutions. */
  permissions: { uid: string; solution: string; name: string }
  /** A series of remembered logins: one browser in one solution. */
  remembered: {
    selector: string
    solution: string
    source: string
    /** SHA-256 of the validator in the current cookie, and of the previous one, which stays valid briefly. */
    validator_hash: string
    previous_hash: string | null
    rotated_at: number
    uid: string
    username: string
    permissions: string
    /** When the user last signed in with credentials. */
    last_login_at: number
    created_at: number
    ended_at: number | null
    /** The related row of `provider_logins`, or null. */
    provider_login: string | null
    /** The `custom_*` fields of the sign-in as JSON, encrypted; null in rows older than this column. */
    custom: string | null
    tenant: string | null
    /** Null in rows older than this column. */
    locale: string | null
  }
  /** Counters of sign-in attempts; `points` counts until `expires_at`. */
  throttle: { key: string; points: number; expires_at: number }
}
