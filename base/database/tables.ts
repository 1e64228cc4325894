/**
 * The tables of the platform's database that both services use. Each service adds its own: `HostTables`,
 * `CenterTables`. Times are epoch milliseconds; JSON is stored as text.
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
    /** The source of the account: an `AccountSourceName` (base/accounts/account-source-name.ts). */
    source: string
    /** The remembered login that created this session or was created with it, or null. */
    selector: string | null
    /** The id of a row in `provider_logins`, or null. */
    provider_login: string | null
    /** The user's sign-in methods, as a JSON array; null in rows older than this column. */
    methods: string | null
    /** The browser's User-Agent header, shortened; null in rows older than this column. */
    agent: string | null
    /**
     * The source of the account whose second factors apply, if it is not `source`; null in rows older than this column.
     */
    factors_of: string | null
    /** When the user last confirmed their identity; null if they haven't since they signed in. */
    confirmed_at: number | null
  }
  users: {
    uid: string
    username: string
    /** The unique key: the result of `usernameKey` (base/accounts/username.ts). */
    username_key: string
    display_name: string | null
    email: string | null
    /** Argon2id in PHC string format. If null, the user can't sign in with a password. */
    password_hash: string | null
    enabled: number
    must_change_password: number
    password_changed_at: number | null
    last_login_at: number | null
    /** The number of failed password attempts since the last sign-in. */
    failed_count: number
    created_at: number
    /** When the user verified the address in `email`; null if they haven't. */
    email_verified_at: number | null
    /** The language of emails to the user; null if unknown. */
    locale: string | null
    /** The name of the directory that checks the user's password; null if this table contains its hash. */
    directory: string | null
    /** The id of the user's entry in the directory, which stays the same when the entry is renamed or moved. */
    directory_id: string | null
    /** When a host last checked the entry. Hosts do this while the user has an open session. */
    directory_checked_at: number | null
  }
  /** `solution` is '' if the permission applies to all solutions. */
  permissions: { uid: string; solution: string; name: string }
  /** Remembered logins. Each row is a series: one browser in one solution. */
  remembered: {
    selector: string
    solution: string
    source: string
    /**
     * SHA-256 of the validator in the current cookie. The next column is for the previous cookie, which stays valid
     * briefly.
     */
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
    /** The id of a row in `provider_logins`, or null. */
    provider_login: string | null
    /** The `custom_*` fields of the sign-in as JSON, encrypted; null in rows older than this column. */
    custom: string | null
    tenant: string | null
    /** Null in rows older than this column. */
    locale: string | null
    /** This column and the next two have the same content as in `sessions`. */
    methods: string | null
    agent: string | null
    factors_of: string | null
  }
  /** Single-use tokens that have been used, stored until they expire. */
  used_tokens: { id: string; expires_at: number }
  /** An account that has factors or was asked to set one up. */
  factor_accounts: {
    /** A hash of the next three columns. */
    id: string
    source: string
    /** '' for the users table, whose accounts are the same in all solutions. */
    solution: string
    uid: string
    /** The random id that identifies the account to passkeys. */
    user_handle: string
    /** When the user was first asked to set up a factor. The grace period starts then. */
    first_asked_at: number | null
    /** The number of wrong codes in a row. */
    wrong_tries: number
    last_login_at: number | null
    created_at: number
  }
  factors: {
    id: string
    account: string
    /** 'app' or 'passkey'. */
    kind: string
    /** Either `app {account}`, so that an account has at most one app, or the hash of the passkey's credential id. */
    lookup: string
    name: string
    /** Encrypted with the platform key. */
    secret: string
    /** The domain that a passkey is bound to; null for an authenticator app. */
    rp_id: string | null
    /** Whether a passkey is synced to other devices: 0 or 1; null for an authenticator app. */
    synced: number | null
    /** The last time step whose code was accepted, or the last signature counter of a passkey. */
    counter: number
    created_at: number
    last_used_at: number | null
    /** When the passkey's counter suggested that the passkey was copied. From then on, the host rejects it. */
    refused_at: number | null
  }
  /** All codes of an account belong to one set and have the same salt. */
  recovery_codes: { account: string; hash: string; salt: string; used_at: number | null }
  /** A sign-in that waits for its second step or for the set-up of a factor. */
  open_sign_ins: {
    /** SHA-256 of the cookie's value. */
    id_hash: string
    solution: string
    account: string
    /** Encrypted with the platform key. */
    content: string
    wrong_tries: number
    expires_at: number
    ended_at: number | null
  }
  /** Links with which users in the users table choose a password or verify an address. */
  links: {
    /** SHA-256 of the token, which is only in the link. */
    token_hash: string
    /** `{uid} {kind} {number}`. The number limits how many links of each kind a user can have. */
    place: string
    /** A `LinkKind` (host/links/links.ts). */
    kind: string
    uid: string
    /** The solution whose page the link opens. */
    solution: string
    /** A hash of the address and of the time of the last password change. If either changes, the link is invalid. */
    state: string
    /** The address that the link verifies; null for other kinds. */
    address: string | null
    /** Whether the link was sent by email. If so, using it proves access to the user's mailbox. */
    is_mailed: number
    expires_at: number
  }
  /** Counters of sign-in attempts. `points` is valid until `expires_at`. */
  throttle: { key: string; points: number; expires_at: number }
}
